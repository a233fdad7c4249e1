package philo;

/** Thinks, eats, and counts its own meals: the count belongs to the thread until it is joined. */
final class Philosopher extends Thread {
    private final Table table;
    private final int seat;
    private final int rounds;
    private int eaten;
    private long thoughts;
    private boolean interrupted;

    Philosopher(Table table, int seat, int rounds) {
        super("philosopher-" + seat);
        this.table = table;
        this.seat = seat;
        this.rounds = rounds;
        this.thoughts = 17L * (seat + 1);
    }

    @Override
    public void run() {
        try {
            for (int round = 0; round < rounds; round++) {
                think();
                table.takeForks(seat);
                try {
                    eat();
                } finally {
                    table.putForks(seat);
                }
            }
        } catch (InterruptedException stop) {
            interrupted = true;
        }
    }

    private void think() {
        int steps = 50 + (int) (thoughts & 63);
        for (int step = 0; step < steps; step++) {
            thoughts = thoughts * 6364136223846793005L + 1442695040888963407L;
        }
    }

    private void eat() {
        eaten++;
        Thread.yield();
    }

    int eaten() {
        return eaten;
    }

    boolean wasInterrupted() {
        return interrupted;
    }

    int seat() {
        return seat;
    }
}
