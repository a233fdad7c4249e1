import java.lang.reflect.Array;
import java.lang.reflect.Field;

/**
 * Accesses that the library makes for the program: the names of the fields say which race, and so do the arrays, which are of
 * another type each.
 */
public class LibraryAccesses {
    interface Body {
        void run() throws Exception;
    }

    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

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

    public static void main(String[] arguments) throws Exception {
        fields();
        elements();
        System.out.println("done");
    }
}
