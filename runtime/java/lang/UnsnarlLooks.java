package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * Looks that cannot have found anything new and need not be recorded: programs ask an atomic variable much more often than they
 * set it.
 *
 * <p>Where nobody sends to an object but by calls on it (crates/instrument/src/senders.rs), such calls are counted. A
 * call that may send takes its number, then counts, then does what it does; a look does what it does, then asks for the count,
 * then takes its number. So a look that finds the count of the thread's last recorded look at the object can have seen nothing
 * that was not sent before that one took its number. Objects may share a count, which only leads to more events.
 */
final class UnsnarlLooks {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final int COUNTS = 4096;
    private static final int FEWEST = 4;
    private static final int MOST = 64;
    private static final long[] NONE = new long[2];
    private static final long[] SENT = new long[COUNTS];

    /** What the thread is looking at, and where in the code. */
    private Object receiver;
    int site;
    /** Pairs of an id and its count when the thread last recorded a look; one may give way to another. */
    private long[] last = NONE;
    private int pushedOut = 1;

    /** Called after the number of a call that may send to the object. */
    @Hidden
    static void sends(long id) {
        UNSAFE.getAndAddLong(SENT, place(id), 1);
    }

    @Hidden
    void begin(Object receiver, int site) {
        this.receiver = receiver;
        this.site = site;
    }

    /** What the thread has looked at, if it may have found something new; else null. From now on it is known. */
    @Hidden
    Object end(UnsnarlThread thread) {
        Object looked = receiver;
        receiver = null;
        if (looked == null) {
            return null;
        }
        long id = UnsnarlIds.identify(thread, looked);
        long count = UNSAFE.getLongVolatile(SENT, place(id));
        if (last[entry(id)] == id && last[entry(id) + 1] == count) {
            return null;
        }
        remember(id, count);
        return looked;
    }

    @Hidden
    private void remember(long id, long count) {
        if (pushedOut > last.length / 4 && last.length < 2 * MOST) {
            last = new long[Math.max(2 * FEWEST, 4 * last.length)];
            pushedOut = 0;
        }
        int entry = entry(id);
        pushedOut += last[entry] == 0 || last[entry] == id ? 0 : 1;
        last[entry] = id;
        last[entry + 1] = count;
    }

    @Hidden
    private int entry(long id) {
        return 2 * ((int) mix(id) & last.length / 2 - 1);
    }

    @Hidden
    private static long place(long id) {
        return UnsnarlThread.LONGS + 8 * (mix(id) & COUNTS - 1);
    }

    @Hidden
    private static long mix(long id) {
        return id * 0x9E3779B97F4A7C15L >>> 40;
    }
}
