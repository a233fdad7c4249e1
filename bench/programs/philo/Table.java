package philo;

/** The monitor: a philosopher waits until both forks are free and takes them together. */
final class Table {
    private final Fork[] forks;
    private int snacks;
    private int waits;

    Table(int seats) {
        forks = new Fork[seats];
        for (int seat = 0; seat < seats; seat++) {
            forks[seat] = new Fork();
        }
    }

    synchronized void takeForks(int seat) throws InterruptedException {
        Fork left = left(seat);
        Fork right = right(seat);
        while (!left.isFree() || !right.isFree()) {
            waits++;
            wait();
        }
        left.take(seat);
        right.take(seat);
        snacks++;
    }

    synchronized void putForks(int seat) {
        left(seat).put(seat);
        right(seat).put(seat);
        notifyAll();
    }

    synchronized int snacks() {
        return snacks;
    }

    synchronized int waits() {
        return waits;
    }

    synchronized int forkUses() {
        int sum = 0;
        for (Fork fork : forks) {
            sum += fork.uses();
        }
        return sum;
    }

    private Fork left(int seat) {
        return forks[seat];
    }

    private Fork right(int seat) {
        return forks[(seat + 1) % forks.length];
    }
}
