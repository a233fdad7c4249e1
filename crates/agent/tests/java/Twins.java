/** A racy and a clean use of every kind of order that is recorded; the names of the fields say which. */
public class Twins extends Turns {
    int blockRacy;
    int blockOk;
    int methodRacy;
    int methodOk;
    int thrownOk;
    int startRacy;
    int startOk;
    int joinRacy;
    int joinOk;
    int volatileRacy;
    int volatileOk;
    int waitRacy;
    int waitOk;
    static int staticMethodOk;
    static int staticRacy;
    final int[] elements = new int[2];

    volatile boolean flag;
    boolean ready;
    final Object lock = new Object();

    static class Initialized {
        static int valueOk = 3;
    }

    /** Both run at the same time, as far as the recorded order can tell. */
    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    synchronized void method() {
        methodOk++;
    }

    synchronized void otherMonitor(Object other) {
        synchronized (other) {
            blockOk++;
        }
        methodRacy++;
    }

    synchronized void fails() {
        thrownOk++;
        throw new UnsupportedOperationException();
    }

    static synchronized void staticMethod() {
        staticMethodOk++;
    }

    static void quietly(Runnable runnable) {
        try {
            runnable.run();
        } catch (UnsupportedOperationException expected) {
            return;
        }
        throw new AssertionError();
    }

    public static void main(String[] arguments) throws Exception {
        Twins it = new Twins();

        both(() -> it.otherMonitor(it.lock), () -> {
            synchronized (it.lock) {
                it.blockOk++;
            }
            it.methodRacy++;
        });
        both(() -> {
            synchronized (it.lock) {
                it.blockRacy++;
            }
        }, () -> {
            synchronized (new Object()) {
                it.blockRacy++;
            }
        });
        both(it::method, it::method);
        both(() -> quietly(it::fails), () -> quietly(it::fails));
        both(Twins::staticMethod, Twins::staticMethod);
        both(() -> staticRacy++, () -> staticRacy++);
        both(() -> it.elements[0]++, () -> it.elements[1]++);
        both(() -> it.startRacy = Initialized.valueOk, () -> it.startRacy = Initialized.valueOk + 1);

        it.startOk = 1;
        Thread joined = start(() -> {
            it.startOk++;
            it.joinOk++;
            it.joinRacy++;
        });
        int early = it.joinRacy;
        joined.join();
        int late = it.joinOk + it.startOk;

        both(() -> {
            it.volatileOk = 1;
            it.flag = true;
            it.volatileRacy = 1;
        }, () -> {
            while (!it.flag) {
                Thread.sleep(1);
            }
            int seen = it.volatileOk + it.volatileRacy;
        });
        both(() -> {
            it.waitOk = 1;
            synchronized (it.lock) {
                it.ready = true;
                it.lock.notifyAll();
            }
            it.waitRacy = 1;
        }, () -> {
            synchronized (it.lock) {
                while (!it.ready) {
                    it.lock.wait();
                }
            }
            int seen = it.waitOk + it.waitRacy;
        });
    }
}
