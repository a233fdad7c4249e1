package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * The elements of an array that a thread accesses at one place in the code, one after the other, with the
 * same distance between them: one event, whose last word grows with every access. It grows until the
 * thread's next synchronization, so where it stands in the order of events does not matter.
 */
final class UnsnarlRange {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final int MOST = 1 << 16;

    private int site;
    private long array;
    private int first;
    private int last;
    private int distance;
    private int count;
    /** Where the word that grows lies, and between which synchronizations of the thread. */
    private long place;
    private int interval;

    /** Begins with the access of an event that was just written. */
    void begin(long place, int site, long array, int index, int interval) {
        this.place = place;
        this.site = site;
        this.array = array;
        this.interval = interval;
        first = index;
        last = index;
        count = 1;
    }

    /** Takes an access in, if it goes on with those that are there. */
    boolean extend(int site, long array, int index, int interval) {
        int step = index - last;
        if (this.site != site || this.array != array || this.interval != interval || count == MOST
                || count > 1 && step != distance || step == 0 || step != (short) step) {
            return false;
        }
        distance = step;
        last = index;
        UNSAFE.putLong(place, first | (step & 0xFFFFL) << 32 | (long) count << 48);
        count++;
        return true;
    }
}
