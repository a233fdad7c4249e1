package sor;

/** Lets threads pass only together; the last of a phase collects the largest of what they bring. */
final class PhaseBarrier {
    private final int parties;
    private int arrived;
    private int phase;
    private double largest;
    private double agreed;

    PhaseBarrier(int parties) {
        this.parties = parties;
    }

    /** Waits for the others and returns the largest value that anybody brought. */
    synchronized double await(double brought) throws InterruptedException {
        largest = Math.max(largest, brought);
        arrived++;
        if (arrived == parties) {
            arrived = 0;
            phase++;
            agreed = largest;
            largest = 0;
            notifyAll();
            return agreed;
        }
        int mine = phase;
        while (mine == phase) {
            wait();
        }
        return agreed;
    }

    synchronized int phase() {
        return phase;
    }
}
