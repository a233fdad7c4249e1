/** What a class initializer has written, seen by threads that nothing else orders. */
public class Initializers {
    static class Data {
        int readOk;
        int callOk;
        int newOk;
        int belowOk;
        int oldRacy;
        int leakRacy;
    }

    static final Data data = new Data();
    static Leaking leakingRacy;

    /** Time passes, but no thread sees anything of another. */
    static void pause() {
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < 200_000_000) {
            Thread.onSpinWait();
        }
    }

    static class Read {
        static int value;

        static {
            data.readOk = 1;
            value = 2;
        }
    }

    static class Called {
        static {
            data.callOk = 1;
        }

        static int get() {
            return data.callOk;
        }
    }

    static class Made {
        int number;

        static {
            data.newOk = 1;
        }

        Made() {
            number = data.newOk;
        }
    }

    static class Above {
        static {
            data.belowOk = 1;
        }
    }

    static class Below extends Above {
        int number = 2;
    }

    static class Old {
        static {
            data.oldRacy = 1;
        }

        static int get() {
            return 3;
        }
    }

    /** An object that is known before its class is initialized: its methods do not wait for the initializer. */
    static class Leaking {
        int number;

        static {
            leakingRacy = new Leaking();
            data.leakRacy = 1;
        }

        int get() {
            return number + data.leakRacy;
        }
    }

    interface Step {
        int run();
    }

    /** The first thread comes first, and the second does not know it. */
    static void inTurn(Step first, Step second) throws InterruptedException {
        Thread one = new Thread(first::run);
        Thread two = new Thread(() -> {
            pause();
            second.run();
        });
        one.start();
        two.start();
        one.join();
        two.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        inTurn(() -> Read.value, () -> Read.value + data.readOk);
        inTurn(Called::get, Called::get);
        inTurn(() -> new Made().number, () -> new Made().number);
        inTurn(() -> new Below().number, () -> new Below().number + data.belowOk);
        inTurn(Old::get, () -> data.oldRacy);
        inTurn(() -> new Leaking().number, () -> leakingRacy.get());
    }
}
