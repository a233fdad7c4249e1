package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * The elements of an array that a thread accesses at one place in the code, one after the other, with the
 * same distance between them: one event, whose last word grows with every access. It grows until the
 * thread's next synchronization, so where it stands in the order of events does not matter.
 */
final class UnsnarlRange {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final long ONE_MORE = 1L << 48;
    private static final int NONE = -1;

    private static final UnsnarlEntry NO_ARRAY = new UnsnarlEntry(null, 0, 0, false, null);

    private UnsnarlEntry array = NO_ARRAY;
    /** The array that was accessed last, whether that has made the range grow or not. */
    private UnsnarlEntry lastArray = NO_ARRAY;
    private int site;
    /** Where the word that grows lies. */
    private long place;
    private int first;
    /** How far it is from one element to the next; 0 as long as there is one only, and when it has ended. */
    private int distance;
    /** The element that comes next; none before the second one, and when it cannot grow any more. */
    private int next = NONE;
    private boolean ended = true;
    /** How many elements after the first one are in it without a gap; 0 if its elements lie apart, and when it has ended. */
    private int covered;

    @Hidden
    void begin(UnsnarlEntry array, int index, int site, long place) {
        this.array = array;
        this.site = site;
        this.place = place;
        first = index;
        distance = 0;
        next = NONE;
        ended = false;
        covered = 0;
    }

    @Hidden
    void end() {
        distance = 0;
        next = NONE;
        ended = true;
        covered = 0;
    }

    /**
     * Takes an access in, if it is the one that comes next; whether it is in it. A range lasts no longer than an epoch, so an
     * access that is in it already says nothing new.
     */
    @ForceInline
    @Hidden
    boolean goesOn(Object array, int index, int site) {
        boolean isIn = Integer.compareUnsigned(index - first, covered) < 0;
        if (!isIn && index != next || this.site != site || !this.array.refersTo(array)) {
            return false;
        }
        return isIn || goesOn(index);
    }

    @ForceInline
    @Hidden
    private boolean goesOn(int index) {
        long word = UNSAFE.getLong(place) + ONE_MORE;
        UNSAFE.putLong(place, word);
        next = word >>> 48 == 0xFFFF ? NONE : index + distance;
        if (distance == 1) {
            covered++;
        }
        return true;
    }

    /** Takes the second access in, if it is near enough. */
    @Hidden
    boolean goesOnSecond(UnsnarlEntry array, int index, int site) {
        int step = index - first;
        if (ended || distance != 0 || this.array != array || this.site != site || step == 0 || step != (short) step) {
            return false;
        }
        distance = step;
        next = index + step;
        covered = step == 1 ? 2 : 0;
        UNSAFE.putLong(place, first | (step & 0xFFFFL) << 32 | ONE_MORE);
        return true;
    }

    /** Whether an access is in it already. */
    @Hidden
    boolean contains(UnsnarlEntry array, int index, int site) {
        if (distance == 0 || this.array != array || this.site != site) {
            return false;
        }
        int steps = (index - first) / distance;
        return steps >= 0 && steps <= UNSAFE.getLong(place) >>> 48 && first + steps * distance == index;
    }

    @Hidden
    UnsnarlEntry lastArray() {
        return lastArray;
    }

    @Hidden
    void setLastArray(UnsnarlEntry array) {
        lastArray = array;
    }
}
