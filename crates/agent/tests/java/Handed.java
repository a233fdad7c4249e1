import java.util.concurrent.locks.ReentrantLock;

/**
 * Objects that several threads use one after another. What a filter must not leave out behind the hand-off has a name
 * that ends with Racy, or is an array of char.
 */
public class Handed {
    static final Object LOCK = new Object();
    static final ReentrantLock REENTRANT = new ReentrantLock();
    static volatile int signal;

    int givenBackRacy;
    int givenBackOk;
    int unlockedRacy;
    int unlockedOk;
    int waitedRacy;
    int waitedOk;
    int readThenWriteRacy;
    int signalledOk;

    static class Statics {
        static int lockedOk;
    }

    static class RacyStatics {
        static int staticRacy;
    }

    static class OwnStatics {
        static int own;
    }

    /** A thread that only reads the final field does not take the object from its maker. */
    static class Kept {
        final int name = signal;
        int keptOk;
    }

    static class Made {
        int first;
        int madeRacy;

        Made() {
            first = 1;
            madeRacy = first + 1;
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static void run(Body... bodies) throws Exception {
        for (Body body : bodies) {
            Thread thread = new Thread(() -> {
                try {
                    body.run();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.start();
            thread.join();
        }
    }

    static void locked(Runnable work) {
        synchronized (LOCK) {
            work.run();
        }
    }

    static void reentrant(Runnable work) {
        REENTRANT.lock();
        try {
            work.run();
        } finally {
            REENTRANT.unlock();
        }
    }

    static void locks() throws Exception {
        Handed racy = new Handed();
        run(() -> {
            locked(() -> racy.givenBackRacy++);
            racy.givenBackRacy++;
        }, () -> locked(() -> racy.givenBackRacy++));
        Handed ok = new Handed();
        run(() -> {
            locked(() -> ok.givenBackOk++);
            locked(() -> ok.givenBackOk++);
        }, () -> locked(() -> ok.givenBackOk++));
        Handed unlocked = new Handed();
        run(() -> {
            reentrant(() -> unlocked.unlockedRacy++);
            unlocked.unlockedRacy++;
        }, () -> reentrant(() -> unlocked.unlockedRacy++));
        Handed reentrant = new Handed();
        run(() -> reentrant(() -> reentrant.unlockedOk++), () -> reentrant(() -> reentrant.unlockedOk++));
    }

    static void waits() throws Exception {
        Handed racy = new Handed();
        Body wait = () -> {
            synchronized (LOCK) {
                racy.waitedRacy++;
                LOCK.wait(1);
            }
            racy.waitedRacy++;
        };
        run(wait, wait);
        Handed ok = new Handed();
        Body waitOk = () -> {
            synchronized (LOCK) {
                ok.waitedOk++;
                LOCK.wait(1);
                ok.waitedOk++;
            }
        };
        run(waitOk, waitOk);
    }

    static void readsAndWrites() throws Exception {
        Handed object = new Handed();
        run(() -> {
            locked(() -> object.readThenWriteRacy++);
            if (object.readThenWriteRacy > 0) {
                object.readThenWriteRacy = 0;
            }
        }, () -> locked(() -> object.readThenWriteRacy++));
    }

    static void arrays() throws Exception {
        int[] ok = new int[300];
        char[] racy = new char[300];
        Body body = () -> {
            synchronized (LOCK) {
                for (int index = 0; index < ok.length; index++) {
                    ok[index]++;
                }
            }
            for (int index = 0; index < racy.length; index++) {
                racy[index]++;
            }
        };
        run(body, body);
    }

    static void statics() throws Exception {
        for (int round = 0; round < 5000; round++) {
            OwnStatics.own++;
        }
        Body body = () -> {
            for (int round = 0; round < 1000; round++) {
                RacyStatics.staticRacy++;
            }
            locked(() -> Statics.lockedOk++);
        };
        RacyStatics.staticRacy++;
        Statics.lockedOk++;
        run(body, body);
    }

    public static void main(String[] args) throws Exception {
        locks();
        waits();
        readsAndWrites();
        arrays();
        statics();
        Made made = new Made();
        run(() -> made.first++, () -> made.madeRacy++);
        Kept kept = new Kept();
        run(() -> signal = kept.name);
        kept.keptOk++;
        run(() -> kept.keptOk++);
        // What orders threads and is no lock makes nothing new.
        Handed signalled = new Handed();
        run(() -> {
            for (int round = 0; round < 1000; round++) {
                signalled.signalledOk++;
                signal = round;
            }
        });
    }
}
