import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Lets threads follow each other by way of system properties, which order nothing that is recorded: what races then does so in
 * every run. Compiled with every program.
 */
class Turns {
    interface Body {
        void run() throws Exception;
    }

    private static int steps;

    /** Whether what has died is to be known all the time. */
    private static final boolean COLLECTS = Boolean.getBoolean("collects");

    static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    static void say(String what) {
        System.setProperty(what, "said");
    }

    static void hear(String what) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (System.getProperty(what) == null) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("nobody said: " + what);
            }
            Thread.onSpinWait();
        }
    }

    /** What nobody has said yet. */
    static String newStep() {
        if (COLLECTS) {
            System.gc();
        }
        return "step" + steps++;
    }

    /** The others follow the first, and nothing says so but what they call. */
    static void inTurn(Body first, Body... others) throws Exception {
        String step = newStep();
        List<Thread> threads = new ArrayList<>();
        threads.add(start(() -> {
            first.run();
            say(step);
        }));
        for (Body other : others) {
            threads.add(start(() -> {
                hear(step);
                other.run();
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Interrupts a thread that is in the middle of something, and lets it go on behind that. */
    static void interrupt(Body before, Body waits, Body behind) throws Exception {
        String step = newStep();
        Thread thread = start(() -> {
            say(step);
            try {
                waits.run();
            } catch (InterruptedException e) {
                behind.run();
                return;
            }
            throw new IllegalStateException("nobody interrupted");
        });
        Thread other = start(() -> {
            hear(step);
            before.run();
            thread.interrupt();
        });
        other.join();
        thread.join();
    }
}
