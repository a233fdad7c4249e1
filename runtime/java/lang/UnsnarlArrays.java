package java.lang;

import java.lang.reflect.Array;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the probes call for accesses to elements of arrays: in front of each of them, or where a loop is left for all that it
 * has accessed. They return on null as those of {@link UnsnarlHooks}.
 */
public final class UnsnarlArrays {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final boolean FILTERS = UnsnarlHooks.FILTERS;
    /** The first element of arrays that is recorded, and the one after the last. */
    private static final int FIRST_ELEMENT = (int) UnsnarlNative.elements();
    private static final int END_OF_ELEMENTS = (int) (UnsnarlNative.elements() >>> 32);
    /** Elements of an array that share an entry of the filter, as a power of two. */
    private static final int STRIPE = 3;
    /** Elements after so many are not filtered. */
    private static final int FILTERED_LENGTH = 1 << STRIPE + 16 + 8;
    private static final long STRIPE_TAG = 0xFF0000;
    /** The elements of a loop are looked up in the filter one by one if they lie no farther apart. */
    private static final int SHORT_LOOP = 256;
    /** How many elements an event has room for. */
    private static final int LONGEST = 1 << 16;

    private UnsnarlArrays() {}

    /** Makes sure that nothing has to be loaded later. */
    @Hidden
    static void prepare() {
        arrayRead(null, 0, 0);
    }

    @Hidden
    public static void arrayRead(Object array, int index, int site) {
        if (array != null && isWatched(index) && index < Array.getLength(array)) {
            UnsnarlThread thread = UnsnarlHooks.current();
            UnsnarlRange range = thread.range(site);
            if (!range.goesOn(array, index, site) && !isKnown(thread, range, array, index, UnsnarlThread.READ)) {
                element(thread, UnsnarlHooks.ARRAY_READ, array, index, site);
            }
        }
    }

    @Hidden
    public static void arrayWrite(Object array, int index, int site) {
        if (array != null && isWatched(index) && index < Array.getLength(array)) {
            UnsnarlThread thread = UnsnarlHooks.current();
            UnsnarlRange range = thread.range(site);
            if (!range.goesOn(array, index, site) && !isKnown(thread, range, array, index, UnsnarlThread.WRITE)) {
                element(thread, UnsnarlHooks.ARRAY_WRITE, array, index, site);
            }
        }
    }

    /**
     * Called where a loop is left. It has accessed the elements from {@code start} up to {@code now}, where the round did
     * not come to the access if it has only {@code reached} one before it. The elements lie {@code offset} after that. The
     * last one may have failed. The shape has the step in its twelve upper bits, the offset in those below, and the
     * number of the access.
     */
    @Hidden
    public static void loopRead(Object array, int start, int now, int reached, int shape, int site) {
        loop(UnsnarlHooks.ARRAY_READ, array, start, now, reached, shape, site);
    }

    @Hidden
    public static void loopWrite(Object array, int start, int now, int reached, int shape, int site) {
        loop(UnsnarlHooks.ARRAY_WRITE, array, start, now, reached, shape, site);
    }

    @Hidden
    private static void loop(int kind, Object array, int start, int now, int reached, int shape, int site) {
        if (array == null) {
            return;
        }
        int step = shape >> 20;
        int offset = shape << 12 >> 20;
        long first = (long) start + offset;
        long last = (long) now + offset - (reached >= (shape & 0xFF) ? 0 : step);
        if (last < 0 || last >= Array.getLength(array)) {
            last -= step;
        }
        if (step > 0) {
            elements(kind, array, first, last, step, site);
        } else {
            elements(kind, array, last, first, -step, site);
        }
    }

    /** Called in front of {@code array.clone()}, which cannot fail but for lack of memory. */
    @Hidden
    public static void copied(Object array, int site) {
        if (array != null) {
            elements(UnsnarlHooks.ARRAY_READ, array, 0, Array.getLength(array) - 1L, 1, site);
        }
    }

    /** Elements at equal distances, the last one included. */
    @Hidden
    private static void elements(int kind, Object array, long first, long last, int step, int site) {
        if (first < FIRST_ELEMENT) {
            first += (FIRST_ELEMENT - first + step - 1) / step * step;
        }
        if (last >= END_OF_ELEMENTS) {
            last -= (last - END_OF_ELEMENTS + step) / step * step;
        }
        if (first > last) {
            return;
        }
        UnsnarlThread thread = UnsnarlHooks.current();
        UnsnarlEntry entry = thread.range(site).lastArray();
        if (!entry.refersTo(array)) {
            entry = UnsnarlIds.entry(thread, array);
            thread.ownRange(site).setLastArray(entry);
        }
        if (entry.internal) {
            return;
        }
        int owner = UnsnarlOwners.of(entry.id);
        if (owner == (int) thread.id) {
            return;
        }
        boolean known = FILTERS && owner != UnsnarlOwners.NOBODY && (last - first < SHORT_LOOP
                ? areKnown(thread, kind, entry.id, (int) first, (int) last, step)
                : thread.knowsLoop(entry.id, site, (int) first, (int) last, step));
        if (known) {
            return;
        }
        for (long from = first; from <= last; from += (long) LONGEST * step) {
            long more = Math.min((last - from) / step, LONGEST - 1);
            long place = thread.reserve(24);
            if (place != 0) {
                UNSAFE.putLong(place + 8, entry.id);
                UNSAFE.putLong(place + 16, more == 0 ? from : from | (long) step << 32 | more << 48);
                thread.finish(place, 24, kind, site);
            }
        }
        UnsnarlOwners.accessed(thread, entry.id, owner);
    }

    @ForceInline
    @Hidden
    static boolean isWatched(int index) {
        return index >= FIRST_ELEMENT && index < END_OF_ELEMENTS;
    }

    @DontInline
    @Hidden
    private static void element(UnsnarlThread thread, int kind, Object array, int index, int site) {
        UnsnarlRange range = thread.ownRange(site);
        UnsnarlEntry entry = range.lastArray();
        if (!entry.refersTo(array)) {
            entry = UnsnarlIds.entry(thread, array);
            range.setLastArray(entry);
        }
        if (entry.internal) {
            return;
        }
        int owner = UnsnarlOwners.of(entry.id);
        if (owner == (int) thread.id) {
            return;
        }
        boolean filters = FILTERS && owner != UnsnarlOwners.NOBODY;
        if (filters) {
            if (range.contains(entry, index, site)
                    || areKnown(thread, kind, entry.id, index, index, 1)
                    || range.goesOnSecond(entry, index, site)) {
                return;
            }
        }
        long place = thread.reserve(24);
        if (place != 0) {
            UNSAFE.putLong(place + 8, entry.id);
            UNSAFE.putLong(place + 16, index);
            thread.finish(place, 24, kind, site);
            if (filters) {
                thread.beginRange(entry, index, site, place + 16);
            }
        }
        UnsnarlOwners.accessed(thread, entry.id, owner);
    }

    /** Whether the thread has accessed the element in this epoch, as far as can be seen fast. */
    @ForceInline
    @Hidden
    private static boolean isKnown(UnsnarlThread thread, UnsnarlRange range, Object array, int index, int asked) {
        UnsnarlEntry entry = range.lastArray();
        return FILTERS && index < FILTERED_LENGTH && entry.refersTo(array)
                && (UnsnarlOwners.owns(thread, entry.id)
                || thread.has(key(entry.id, index), tag(index), STRIPE_TAG, (long) asked << place(index)));
    }

    /** Whether the thread has accessed all of the elements in this epoch; from now on it has. */
    @Hidden
    private static boolean areKnown(UnsnarlThread thread, int kind, long array, int first, int last, int step) {
        if (last >= FILTERED_LENGTH) {
            return false;
        }
        int asked = kind == UnsnarlHooks.ARRAY_READ ? UnsnarlThread.READ : UnsnarlThread.WRITE;
        boolean known = true;
        int index = first;
        while (index <= last) {
            long key = key(array, index);
            long tag = tag(index);
            int end = Math.min(last, index | (1 << STRIPE) - 1);
            long places = 0;
            for (; index <= end; index += step) {
                places |= 1L << place(index);
            }
            if (!thread.has(key, tag, STRIPE_TAG, places * asked)) {
                known = false;
                // A read after a write is redundant as well.
                thread.set(key, tag, STRIPE_TAG, places * (asked | UnsnarlThread.READ));
            }
        }
        return known;
    }

    @Hidden
    private static long key(long array, int index) {
        return array << 16 | index >>> STRIPE & 0xFFFF;
    }

    @Hidden
    private static long tag(int index) {
        return (long) (index >>> STRIPE + 16) << 16;
    }

    @Hidden
    private static int place(int index) {
        return 2 * (index & (1 << STRIPE) - 1);
    }
}
