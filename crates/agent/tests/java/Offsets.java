import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * Variables by their offsets, as queues without locks do it: what one thread sets so another may read as a field. The names of the
 * fields say what races.
 */
public class Offsets extends Turns {
    static class Padded {
        long before;
        volatile long sequence;
        int plainRacy;
    }

    static class Cursor extends Padded {
        long behind;
    }

    static final Unsafe UNSAFE;
    static final long SEQUENCE;
    static final long PLAIN;
    static final long DONE;
    static final Object DONE_BASE;

    static volatile int done;

    static {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            UNSAFE = (Unsafe) field.get(null);
            SEQUENCE = UNSAFE.objectFieldOffset(Padded.class.getDeclaredField("sequence"));
            PLAIN = UNSAFE.objectFieldOffset(Padded.class.getDeclaredField("plainRacy"));
            DONE = UNSAFE.staticFieldOffset(Offsets.class.getDeclaredField("done"));
            DONE_BASE = UNSAFE.staticFieldBase(Offsets.class.getDeclaredField("done"));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    int orderedOk;
    int orderedRacy;
    int volatileOk;
    int swappedOk;
    int staticOk;
    int flagOk;
    int otherFlagRacy;

    public static void main(String[] arguments) throws Exception {
        Offsets shared = new Offsets();
        Cursor cursor = new Cursor();
        inTurn(() -> {
            shared.orderedOk = 1;
            UNSAFE.putOrderedLong(cursor, SEQUENCE, 1);
            shared.orderedRacy = 1;
        }, () -> {
            if (cursor.sequence == 1) {
                shared.orderedOk++;
                shared.orderedRacy++;
            }
        });
        inTurn(() -> {
            shared.volatileOk = 1;
            cursor.sequence = 2;
        }, () -> {
            if (UNSAFE.getLongVolatile(cursor, SEQUENCE) == 2) {
                shared.volatileOk++;
            }
        });
        inTurn(() -> {
            shared.swappedOk = 1;
            UNSAFE.compareAndSwapLong(cursor, SEQUENCE, 2, 3);
        }, () -> {
            if (cursor.sequence == 3) {
                shared.swappedOk++;
            }
        });
        inTurn(() -> {
            shared.staticOk = 1;
            UNSAFE.putIntVolatile(DONE_BASE, DONE, 1);
        }, () -> {
            if (done == 1) {
                shared.staticOk++;
            }
        });

        // Elements are where they are, whatever numbers ids and offsets have.
        int[] flags = new int[64];
        long first = UNSAFE.arrayBaseOffset(int[].class);
        long scale = UNSAFE.arrayIndexScale(int[].class);
        inTurn(() -> {
            shared.flagOk = 1;
            UNSAFE.putOrderedInt(flags, first + 5 * scale, 1);
            shared.otherFlagRacy = 1;
            UNSAFE.putOrderedInt(flags, first + 6 * scale, 1);
        }, () -> {
            if (UNSAFE.getIntVolatile(flags, first + 5 * scale) == 1) {
                shared.flagOk++;
                shared.otherFlagRacy++;
            }
        });
        Object[] slots = new Object[256];
        inTurn(() -> {
            for (int i = 0; i < slots.length; i++) {
                UNSAFE.putObject(slots, UNSAFE.arrayBaseOffset(Object[].class) + (long) i * UNSAFE.arrayIndexScale(Object[].class), "x");
            }
        }, () -> {
            for (int i = 0; i < slots.length; i++) {
                UNSAFE.putOrderedObject(slots, UNSAFE.arrayBaseOffset(Object[].class) + (long) i * UNSAFE.arrayIndexScale(Object[].class), "y");
            }
        });
        inTurn(() -> UNSAFE.putInt(cursor, PLAIN, 1), () -> cursor.plainRacy++);
        System.out.println("done");
    }
}
