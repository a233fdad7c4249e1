/** Runs out of stack at many different depths, inside of monitors, and has none left afterwards. */
public class Overflow {
    int count;
    final Object lock = new Object();

    int blocks(int padding) {
        synchronized (lock) {
            count++;
            return blocks(padding + 1) + 1;
        }
    }

    synchronized int methods(long one, long two) {
        count++;
        return methods(two, one) + 1;
    }

    int both(double value) {
        synchronized (lock) {
            return other(value) + 1;
        }
    }

    synchronized int other(double value) {
        return both(value * 2) + 1;
    }

    int nested(int depth) {
        return depth == 0 ? 0 : nested(depth - 1);
    }

    static boolean overflows(Runnable runnable) {
        try {
            runnable.run();
            return false;
        } catch (StackOverflowError expected) {
            return true;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int[] failures = new int[1];
        for (int size = 0; size < 60; size++) {
            Overflow it = new Overflow();
            int depth = size;
            Runnable all = () -> {
                it.nested(depth);
                boolean done = overflows(() -> it.blocks(depth))
                        & overflows(() -> it.methods(1, depth))
                        & overflows(() -> it.both(depth));
                if (!done || Thread.holdsLock(it) || Thread.holdsLock(it.lock)) {
                    failures[0]++;
                }
            };
            Thread thread = new Thread(null, all, "deep", 200_000 + 1016 * size);
            thread.start();
            thread.join();
        }
        System.out.println("failures " + failures[0]);
    }
}
