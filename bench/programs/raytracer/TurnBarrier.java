package raytracer;

/** A barrier on a volatile turn: spins, then yields. */
final class TurnBarrier {
    private final int parties;
    private final Object gate = new Object();
    private int waiting;
    private volatile int turn;

    TurnBarrier(int parties) {
        this.parties = parties;
    }

    void pass() {
        int mine;
        synchronized (gate) {
            mine = turn;
            waiting++;
            if (waiting == parties) {
                waiting = 0;
                turn = mine + 1;
                return;
            }
        }
        int spins = 0;
        while (turn == mine) {
            spins++;
            if (spins > 100) {
                Thread.yield();
            }
        }
    }
}
