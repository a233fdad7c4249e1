import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.Arrays;

/**
 * Accesses that the library makes for the program: the names of the fields say which race, and so do the arrays, which are of
 * another type each.
 */
public class LibraryAccesses extends Turns {
    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    static class Reflected {
        int onceRacy;
        int againRacy;
        int otherOk;
    }

    /** What one thread reads by the same field again and again is of another object each time. */
    static void fields() throws Exception {
        Reflected[] all = {new Reflected(), new Reflected(), new Reflected()};
        Field once = Reflected.class.getDeclaredField("onceRacy");
        Field again = Reflected.class.getDeclaredField("againRacy");
        Field other = Reflected.class.getDeclaredField("otherOk");
        both(() -> once.getInt(all[0]), () -> all[0].onceRacy = 1);
        both(() -> {
            for (Reflected each : all) {
                again.getInt(each);
            }
        }, () -> all[2].againRacy = 1);
        both(() -> {
            other.getInt(all[0]);
            other.getInt(all[1]);
        }, () -> all[2].otherOk = 1);
    }

    static void elements() throws Exception {
        int[] read = new int[3];
        both(() -> {
            Array.getInt(read, 0);
            Array.getInt(read, 1);
        }, () -> {
            read[1] = 1;
            read[2] = 1;
        });
    }

    /** Of the copied elements, and of no others. */
    static void copies() throws Exception {
        byte[] cloned = new byte[4];
        both(() -> cloned.clone(), () -> cloned[3] = 1);
        short[] none = new short[0];
        both(() -> none.clone(), () -> none.clone());
        char[] shorter = new char[4];
        both(() -> Arrays.copyOf(shorter, 2), () -> {
            shorter[1] = 1;
            shorter[2] = 1;
        });
        long[] longer = new long[4];
        both(() -> Arrays.copyOf(longer, 9), () -> longer[3] = 1);
        float[] part = new float[8];
        both(() -> Arrays.copyOfRange(part, 2, 4), () -> {
            part[1] = 1;
            part[2] = 1;
            part[4] = 1;
        });
    }

    static void wholes() throws Exception {
        boolean[] filled = new boolean[4];
        both(() -> Arrays.fill(filled, true), () -> filled[2] = true);
        String[] partly = new String[8];
        both(() -> Arrays.fill(partly, 1, 3, ""), () -> {
            partly[0] = "";
            partly[2] = "";
            partly[3] = "";
        });
        Integer[] sorted = {3, 1, 2};
        both(() -> Arrays.sort(sorted, (a, b) -> a - b), () -> sorted[0] = 1);
        Long[] printed = {3L, 1L, 2L};
        both(() -> Arrays.toString(printed), () -> printed[1] = 1L);
        Short[] refused = {1, 2, 3};
        both(() -> {
            try {
                Arrays.fill(refused, 1, 9, null);
            } catch (ArrayIndexOutOfBoundsException expected) {
                refused[0] = 1;
            }
        }, () -> refused[1] = 1);
    }

    static class Above implements Cloneable {
        int aboveRacy;
        int aboveOk;
        volatile int volatileOk;

        Above copy() throws CloneNotSupportedException {
            return (Above) clone();
        }
    }

    static class Below extends Above {
        int belowRacy;
        final int finalOk = 1;

        @Override
        protected Below clone() throws CloneNotSupportedException {
            return (Below) super.clone();
        }
    }

    /** A clone of its own, which copies nothing but what it says. */
    static class Own implements Cloneable {
        int ownRacy;
        int ownOk;

        @Override
        public Own clone() {
            Own copy = new Own();
            copy.ownRacy = ownRacy;
            return copy;
        }
    }

    static class Unable {
        int unableOk;

        void copy() {
            try {
                clone();
            } catch (CloneNotSupportedException expected) {
                unableOk++;
            }
        }
    }

    static void objects() throws Exception {
        Above above = new Above();
        both(() -> above.copy(), () -> above.aboveRacy = 1);
        above.copy();
        both(() -> above.volatileOk = 1, () -> above.copy());
        Below below = new Below();
        both(() -> below.copy(), () -> below.belowRacy = 1);
        below.aboveOk = ((Below) below.copy()).finalOk;
        Own own = new Own();
        both(() -> own.clone(), () -> {
            own.ownRacy = 1;
            own.ownOk = 1;
        });
        Unable unable = new Unable();
        Thread thread = start(unable::copy);
        thread.join();
        unable.copy();
    }

    public static void main(String[] arguments) throws Exception {
        fields();
        elements();
        copies();
        wholes();
        objects();
        System.out.println("done");
    }
}
