package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The elements of an array that a thread accesses at one place in the code, one after the other, with the
 * same distance between them: one event, whose last word grows with every access. It grows until the
 * thread's next synchronization, so where it stands in the order of events does not matter.
 */
final class UnsnarlRange {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final long ONE_MORE = 1L << 48;
    private static final int NONE = -1;

    private static final UnsnarlEntry NO_ARRAY = new UnsnarlEntry(null, 0, 0, null);

    private UnsnarlEntry array = NO_ARRAY;
    private int site;
    /** Between which synchronizations of the thread it was begun. */
    private int interval;
    /** Where the word that grows lies, and the word. */
    private long place;
    private long word;
    /** How far it is from one element to the next; 0 as long as there is one only. */
    private int distance;
    /** The element that comes next; none before the second one, and when the word is full. */
    private int next = NONE;

    void begin(UnsnarlEntry array, int index, int site, int interval, long place) {
        this.array = array;
        this.site = site;
        this.interval = interval;
        this.place = place;
        word = index;
        distance = 0;
        next = NONE;
    }

    /** Takes an access in, if it is the one that comes next. */
    @ForceInline
    boolean goesOn(Object array, int index, int site, int interval) {
        if (index != next || this.site != site || this.interval != interval || !this.array.refersTo(array)) {
            return false;
        }
        grow();
        return true;
    }

    private void grow() {
        word += ONE_MORE;
        UNSAFE.putLong(place, word);
        next = word >>> 48 == 0xFFFF ? NONE : next + distance;
    }

    /** Takes the second access in, if it is near enough. */
    boolean goesOnSecond(UnsnarlEntry array, int index, int site, int interval) {
        int step = index - (int) word;
        if (distance != 0 || !isOf(array, site, interval) || step == 0 || step != (short) step) {
            return false;
        }
        distance = step;
        word |= (step & 0xFFFFL) << 32;
        next = index;
        grow();
        return true;
    }

    /** Whether an access is in it already. */
    boolean contains(UnsnarlEntry array, int index, int site, int interval) {
        if (distance == 0 || !isOf(array, site, interval)) {
            return false;
        }
        int step = index - (int) word;
        int steps = step / distance;
        return steps >= 0 && steps <= word >>> 48 && steps * distance == step;
    }

    private boolean isOf(UnsnarlEntry array, int site, int interval) {
        return this.array == array && this.site == site && this.interval == interval;
    }

    UnsnarlEntry array() {
        return array;
    }
}
