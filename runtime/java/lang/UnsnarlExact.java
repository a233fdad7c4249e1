package java.lang;

import java.lang.reflect.Array;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the probes call where an access and its number are one step: a lock is taken before the number and given back
 * after the access, so that accesses to one variable have their numbers in the order in which they happened.
 *
 * <p>The locks are stripes that many variables share. Between the two hooks stands one instruction. Should that not
 * come to its end (an element of the wrong type, a class that cannot be loaded), the thread gives the stripe back at its
 * next access. Nobody waits forever: a stripe that is not given back is taken away, and the agent logs it.
 */
public final class UnsnarlExact {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final int STRIPES = 1 << 12;
    /** Elements of an array that share a stripe, as a power of two. */
    private static final int ELEMENTS = 3;
    /** Words from one stripe to the next, so that no two lie in one line of a cache. */
    private static final int DISTANCE = 8;
    /** How often a thread looks at a stripe before it sleeps between two looks, and how long it waits at most. */
    private static final int LOOKS = 200;
    private static final long PATIENCE = 500_000_000;
    /** The room for an access and its number. */
    private static final int ROOM = 24 + 16;

    /** Of every stripe the number of the thread that has it; 0 if none has. */
    private static final long FIRST = UNSAFE.allocateMemory(8L * DISTANCE * STRIPES);

    static {
        UNSAFE.setMemory(FIRST, 8L * DISTANCE * STRIPES, (byte) 0);
    }

    private UnsnarlExact() {}

    /** Makes sure that nothing has to be loaded later. */
    @Hidden
    static void prepare() {
        UnsnarlThread thread = UnsnarlHooks.current();
        begin(thread, 0);
        end(thread);
    }

    @Hidden
    public static void readBegins(Object object, int site) {
        if (object != null) {
            UnsnarlThread thread = UnsnarlHooks.current();
            long id = UnsnarlIds.identifyAccessed(thread, object);
            if (id == 0) {
                return;
            }
            begin(thread, id);
            UnsnarlHooks.numbered(thread, UnsnarlHooks.NUMBERED_READ, site, id);
        }
    }

    @Hidden
    public static void writeBegins(Object object, int site) {
        if (object != null) {
            UnsnarlThread thread = UnsnarlHooks.current();
            long id = UnsnarlIds.identifyAccessed(thread, object);
            if (id == 0) {
                return;
            }
            begin(thread, id);
            UnsnarlHooks.numbered(thread, UnsnarlHooks.NUMBERED_WRITE, site, id);
        }
    }

    @Hidden
    public static void staticReadBegins(int site) {
        UnsnarlThread thread = UnsnarlHooks.current();
        begin(thread, 0);
        UnsnarlHooks.numbered(thread, UnsnarlHooks.NUMBERED_STATIC_READ, site);
    }

    @Hidden
    public static void staticWriteBegins(int site) {
        UnsnarlThread thread = UnsnarlHooks.current();
        begin(thread, 0);
        UnsnarlHooks.numbered(thread, UnsnarlHooks.NUMBERED_STATIC_WRITE, site);
    }

    @Hidden
    public static void elementReadBegins(Object array, int index, int site) {
        elementBegins(UnsnarlHooks.ARRAY_READ, array, index, site);
    }

    @Hidden
    public static void elementWriteBegins(Object array, int index, int site) {
        elementBegins(UnsnarlHooks.ARRAY_WRITE, array, index, site);
    }

    /** The event stands right before a number, and so where that stands in the order of all. */
    @Hidden
    private static void elementBegins(int kind, Object array, int index, int site) {
        if (array != null && UnsnarlArrays.isWatched(index) && index < Array.getLength(array)) {
            UnsnarlThread thread = UnsnarlHooks.current();
            long id = UnsnarlIds.identifyAccessed(thread, array);
            if (id == 0) {
                return;
            }
            begin(thread, id ^ (long) (index >> ELEMENTS) << 32);
            UnsnarlHooks.pair(thread, kind, site, id, index);
            UnsnarlHooks.numbered(thread, UnsnarlHooks.GOES_ON, 0);
        }
    }

    /** An array is copied as a whole, which is no step together with its number. */
    @Hidden
    public static void copied(Object array, int site) {
        if (array != null) {
            UnsnarlArrays.copied(array, site);
            UnsnarlHooks.numbered(UnsnarlHooks.current(), UnsnarlHooks.GOES_ON, 0);
        }
    }

    /** Called after every access. */
    @Hidden
    public static void ends() {
        end(UnsnarlHooks.current());
    }

    /** Takes the stripe of a variable. Room for the events is there before, so that nothing is waited for meanwhile. */
    @Hidden
    private static void begin(UnsnarlThread thread, long variable) {
        end(thread);
        thread.reserve(ROOM);
        long stripe = FIRST + ((variable * 0x9E3779B97F4A7C15L >>> 52) & STRIPES - 1) * 8 * DISTANCE;
        if (!UNSAFE.compareAndSetLong(null, stripe, 0, thread.id)) {
            await(thread, stripe);
        }
        thread.stripe = stripe;
    }

    @Hidden
    private static void await(UnsnarlThread thread, long stripe) {
        int looks = 0;
        long since = 0;
        while (!UNSAFE.compareAndSetLong(null, stripe, 0, thread.id)) {
            if (++looks < LOOKS) {
                Thread.onSpinWait();
                continue;
            }
            long now = System.nanoTime();
            since = since == 0 ? now : since;
            UnsnarlNative.pause();
            long holder = UNSAFE.getLongVolatile(null, stripe);
            if (holder != 0 && now - since > PATIENCE && UNSAFE.compareAndSetLong(null, stripe, holder, thread.id)) {
                UnsnarlNative.stripeTaken();
                return;
            }
        }
    }

    /** Gives back what the thread has, if it has. */
    @Hidden
    static void end(UnsnarlThread thread) {
        long stripe = thread.stripe;
        if (stripe != 0) {
            thread.stripe = 0;
            UNSAFE.compareAndSetLong(null, stripe, thread.id, 0);
        }
    }
}
