package philo;

/** A fork between two seats. It has no lock of its own: the table guards it. */
final class Fork {
    private int holder = -1;
    private int uses;

    boolean isFree() {
        return holder < 0;
    }

    void take(int seat) {
        if (!isFree()) {
            throw new IllegalStateException("seat " + seat + " takes the fork of seat " + holder);
        }
        holder = seat;
        uses++;
    }

    void put(int seat) {
        if (holder != seat) {
            throw new IllegalStateException("seat " + seat + " puts back the fork of seat " + holder);
        }
        holder = -1;
    }

    int uses() {
        return uses;
    }
}
