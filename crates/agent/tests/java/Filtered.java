import java.util.ArrayList;
import java.util.function.Supplier;

/**
 * Races that a filter would hide if it left out too much, each with a twin that has none. The names of the fields
 * say which; of the arrays, those of long, char and double have races.
 */
public class Filtered extends Turns {
    int manyRacy;
    int manyOk;
    int readThenWriteRacy;
    int readThenReadOk;
    int volatileRacy;
    int volatileOk;
    int exitRacy;
    int exitOk;
    int waitRacy;
    int waitOk;
    int startRacy;
    int startOk;
    int branchRacy;
    int branchOk;
    int roundRacy;
    int roundOk;
    static int staticRacy;
    static int staticOk;
    static int initializedRacy;

    volatile boolean flag;
    boolean ready;
    final Object lock = new Object();

    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    /** The second runs behind the flag that the first has set somewhere. */
    void flagged(Body first, Body second) throws Exception {
        flag = false;
        both(first, () -> {
            while (!flag) {
                Thread.sleep(1);
            }
            second.run();
        });
    }

    static class Copied implements Cloneable {
        int sharedRacy;
        int apartOk;
        int sameRacy;

        Copied copy() throws CloneNotSupportedException {
            return (Copied) clone();
        }
    }

    static class Below extends Copied {
        @Override
        protected Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    /** Not a copy at all. */
    static class Same extends Copied {
        @Override
        protected Object clone() {
            return this;
        }
    }

    /** A class of the JDK clones it. */
    static class Inherited extends ArrayList<String> {
        int listOk;
        int listRacy;
    }

    static class Leaking {
        static Leaking last;
        int leakedRacy;
        int hiddenOk;

        Leaking(Filtered it) {
            hiddenOk = 1;
            leakedRacy = 1;
            publish(it, this);
            leakedRacy = 2;
        }

        static void publish(Filtered it, Leaking leaking) {
            synchronized (it.lock) {
                last = leaking;
            }
        }
    }

    static class Initializing {
        static int value = 5;

        static {
            mark(1);
        }

        static void mark(int number) {
            initializedRacy = number;
        }
    }

    void repeated() throws Exception {
        both(() -> {
            for (int i = 0; i < 1000; i++) {
                manyRacy++;
            }
        }, () -> manyRacy++);
        both(() -> {
            synchronized (lock) {
                for (int i = 0; i < 1000; i++) {
                    manyOk++;
                }
            }
        }, () -> {
            synchronized (lock) {
                manyOk++;
            }
        });
        both(() -> {
            int seen = readThenWriteRacy;
            readThenWriteRacy = 5;
        }, () -> {
            int seen = readThenWriteRacy;
        });
        both(() -> {
            int seen = readThenReadOk + readThenReadOk;
        }, () -> {
            int seen = readThenReadOk;
        });
        flagged(() -> {
            staticRacy++;
            staticOk++;
            flag = true;
            for (int i = 0; i < 10; i++) {
                addToStatic();
            }
        }, () -> {
            staticRacy++;
            staticOk++;
        });
    }

    static void addToStatic() {
        staticRacy++;
    }

    /** The same field is written before and after what releases. */
    void released() throws Exception {
        flagged(() -> {
            volatileRacy = 1;
            volatileOk = 1;
            volatileOk = 2;
            flag = true;
            volatileRacy = 2;
        }, () -> {
            int seen = volatileOk + volatileRacy;
        });
        both(() -> {
            synchronized (lock) {
                exitRacy = 1;
                exitOk = 1;
                ready = true;
            }
            exitRacy = 2;
        }, () -> {
            boolean done = false;
            while (!done) {
                synchronized (lock) {
                    done = ready;
                }
            }
            int seen = exitOk + exitRacy;
        });
        ready = false;
        both(() -> {
            synchronized (lock) {
                waitRacy = 1;
                waitOk = 1;
                ready = true;
                lock.wait(200);
                waitRacy = 2;
            }
        }, () -> {
            boolean done = false;
            while (!done) {
                synchronized (lock) {
                    done = ready;
                }
            }
            int seen = waitOk + waitRacy;
        });
        startRacy = 1;
        startOk = 1;
        Thread started = start(() -> {
            int seen = startRacy + startOk;
        });
        startRacy = 2;
        started.join();
    }

    /** The same again behind ways and rounds of which one releases. */
    void joined() throws Exception {
        flagged(() -> branch(true), () -> {
            int seen = branchOk + branchRacy;
        });
        flagged(() -> rounds(3), () -> {
            int seen = roundOk + roundRacy;
        });
        double[] racy = new double[3];
        float[] ordered = new float[3];
        flagged(() -> element(racy, ordered, 1), () -> {
            double seen = racy[1] + ordered[1];
        });
    }

    void branch(boolean releases) {
        branchRacy = 1;
        branchOk = 1;
        if (branchRacy > 0) {
            branchOk = 2;
        }
        if (releases) {
            flag = true;
        }
        branchRacy = 2;
    }

    void rounds(int count) {
        roundRacy = 1;
        for (int round = 0; round < count; round++) {
            roundOk = round;
        }
        for (int round = 0; round < count; round++) {
            roundRacy = round;
            if (round == 1) {
                flag = true;
            }
        }
    }

    void element(double[] racy, float[] ordered, int at) {
        racy[at] = 1;
        for (int round = 0; round < 3; round++) {
            if (round != at) {
                ordered[at] = racy[at] > 0 ? 1 : 2;
            }
        }
        flag = true;
        racy[at] = 2;
    }

    static void cloned(Copied original) throws Exception {
        original.sharedRacy = 1;
        original.apartOk = 1;
        original.sameRacy = 1;
        Copied copy = original.copy();
        copy.apartOk = 2;
        both(() -> {
            original.apartOk++;
            copy.sharedRacy++;
        }, () -> {
            copy.apartOk++;
            copy.sharedRacy++;
        });
    }

    static void same(Same original) throws Exception {
        Copied other = original.copy();
        both(() -> original.sameRacy++, () -> other.sameRacy++);
    }

    static void inherited() throws Exception {
        Inherited original = new Inherited();
        original.listOk = 1;
        // No code of the program calls it.
        Supplier<Object> cloning = original::clone;
        Inherited copy = (Inherited) cloning.get();
        both(() -> {
            original.listOk++;
            original.listRacy++;
        }, () -> {
            copy.listOk++;
            original.listRacy++;
        });
    }

    void leaked() throws Exception {
        both(() -> new Leaking(this), () -> {
            Leaking seen = null;
            while (seen == null) {
                synchronized (lock) {
                    seen = Leaking.last;
                }
            }
            int both = seen.hiddenOk + seen.leakedRacy;
        });
    }

    static void arrays() throws Exception {
        long[] racy = new long[100];
        short[] apart = new short[100];
        both(() -> {
            for (int i = 0; i < 60; i++) {
                racy[i] = i;
            }
            for (int i = 0; i < 100; i += 2) {
                apart[i]++;
            }
        }, () -> {
            for (int i = 99; i >= 59; i--) {
                racy[i] = i;
            }
            for (int i = 99; i > 0; i -= 2) {
                apart[i]++;
            }
        });
    }

    /** A range does not go on behind what was released in the middle of it. */
    void ranges() throws Exception {
        char[] racy = new char[10];
        byte[] ordered = new byte[10];
        flagged(() -> {
            for (int i = 0; i < 10; i++) {
                racy[i] = 'x';
                if (i == 5) {
                    for (int j = 0; j < 10; j++) {
                        ordered[j] = 1;
                    }
                    flag = true;
                }
            }
        }, () -> {
            int seen = racy[5] + racy[6] + ordered[9];
        });
    }

    /** The end of a class initializer releases: the write behind it is seen, the one in it was ordered. */
    static void initialized() throws Exception {
        inTurn(() -> {
            int seen = Initializing.value;
            Initializing.mark(2);
        }, () -> {
            int seen = Initializing.value + initializedRacy;
        });
    }

    public static void main(String[] arguments) throws Exception {
        Filtered it = new Filtered();
        it.repeated();
        it.released();
        it.joined();
        cloned(new Copied());
        cloned(new Below());
        same(new Same());
        inherited();
        it.leaked();
        arrays();
        it.ranges();
        initialized();
    }
}
