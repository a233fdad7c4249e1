package tsp;

/** The best tour so far, known to all. */
final class BestTour {
    private static final Object LOCK = new Object();

    /**
     * Written under the lock, and only ever smaller. Read without it to cut branches: an old value
     * costs work, never the result, since an update looks again.
     */
    static int minimum = Integer.MAX_VALUE;

    private static int[] tour = new int[0];
    private static int updates;

    private BestTour() {}

    static void offer(int cost, int[] prefix, int length) {
        if (cost >= minimum) {
            return;
        }
        synchronized (LOCK) {
            if (cost < minimum) {
                minimum = cost;
                int[] copy = new int[length];
                System.arraycopy(prefix, 0, copy, 0, length);
                tour = copy;
                updates++;
            }
        }
    }

    static int[] tour() {
        synchronized (LOCK) {
            return tour.clone();
        }
    }

    static int updates() {
        synchronized (LOCK) {
            return updates;
        }
    }
}
