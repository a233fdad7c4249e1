/** One thread, then another that is joined: every line has events that can be counted by hand. */
public class Accesses {
    int count;
    volatile boolean done;
    long wide;
    static int total;
    static final Object LOCK = new Object();

    synchronized void add(int n) {
        count += n;
    }

    static synchronized int next() {
        return ++total;
    }

    synchronized void fail() {
        throw new IllegalStateException();
    }

    public static void main(String[] arguments) throws Exception {
        Accesses it = new Accesses();
        it.add(5);
        next();
        try {
            it.fail();
        } catch (IllegalStateException expected) {
            it.wide += 3;
        }
        int[] numbers = new int[4];
        numbers[2] = 7;
        double[] doubles = {0.5};
        doubles[0] += numbers[2];
        Thread worker = new Thread(() -> {
            it.count++;
            it.done = true;
            synchronized (LOCK) {
                total++;
            }
        }, "worker");
        worker.start();
        worker.join();
        boolean seen = it.done;
        String[] texts = new String[1];
        try {
            texts[1] = null;
        } catch (ArrayIndexOutOfBoundsException expected) {
            texts[0] = "x";
        }
        try {
            ((Accesses) null).count = 1;
        } catch (NullPointerException expected) {
            int late = Other.value + new Lower().inherited;
        }
        synchronized (it) {
            it.wait(1);
        }
    }

    static class Other {
        static volatile int value = 4;
    }

    static class Upper {
        volatile int inherited;
    }

    static class Lower extends Upper {}
}
