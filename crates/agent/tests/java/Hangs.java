import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait for each other, or for nobody; the program ends when all of them do. */
public class Hangs {
    static final Object LEFT = new Object();
    static final Hangs RIGHT = new Hangs();
    static final Lock FIRST = new ReentrantLock();
    static final Lock SECOND = new ReentrantLock();
    static final AtomicInteger READY = new AtomicInteger();

    synchronized void enterLeft() {
        bothHaveOne();
        synchronized (LEFT) {
            System.out.println("never");
        }
    }

    synchronized void nothing() {}

    static void enterRight() {
        synchronized (LEFT) {
            bothHaveOne();
            RIGHT.nothing();
        }
    }

    /** Until both threads have their first lock. */
    static void bothHaveOne() {
        READY.incrementAndGet();
        while (READY.get() < 2) {
            Thread.onSpinWait();
        }
    }

    static void lock(Lock one, Lock other) {
        one.lock();
        bothHaveOne();
        other.lock();
        System.out.println("never");
    }

    static void waitForNobody() {
        synchronized (LEFT) {
            try {
                LEFT.wait();
            } catch (InterruptedException expected) {
                System.out.println("interrupted");
            }
        }
    }

    static Thread start(boolean isVirtual, String name, Runnable task) {
        Thread thread;
        if (isVirtual) {
            try {
                Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
                thread = (Thread) Class.forName("java.lang.Thread$Builder").getMethod("unstarted", Runnable.class)
                        .invoke(builder, task);
                thread.setName(name);
            } catch (ReflectiveOperationException impossible) {
                throw new AssertionError(impossible);
            }
        } else {
            thread = new Thread(task, name);
            thread.setDaemon(true);
        }
        thread.start();
        return thread;
    }

    /** Until each thread waits for a lock that the other has. */
    static void untilDeadlocked(Thread... threads) throws InterruptedException {
        while (READY.get() < 2) {
            Thread.sleep(1);
        }
        untilBlocked(threads);
    }

    static void untilBlocked(Thread... threads) throws InterruptedException {
        for (Thread thread : threads) {
            while (thread.getState() != Thread.State.BLOCKED && thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        switch (arguments[0]) {
            case "monitors", "virtual" -> {
                boolean isVirtual = arguments[0].equals("virtual");
                Thread one = start(isVirtual, "one", () -> RIGHT.enterLeft());
                Thread two = start(isVirtual, "two", Hangs::enterRight);
                untilDeadlocked(one, two);
            }
            case "locks" -> {
                Thread one = start(false, "one", () -> lock(FIRST, SECOND));
                Thread two = start(false, "two", () -> lock(SECOND, FIRST));
                untilDeadlocked(one, two);
            }
            case "nobody", "late" -> {
                if (arguments[0].equals("late")) {
                    synchronized (LEFT) {
                        LEFT.notifyAll();
                    }
                }
                Thread waiting = new Thread(Hangs::waitForNobody, "waiting");
                waiting.start();
                untilBlocked(waiting);
                System.out.println("waiting");
            }
            default -> throw new AssertionError();
        }
    }
}
