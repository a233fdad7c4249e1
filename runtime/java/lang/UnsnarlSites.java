package java.lang;

import jdk.internal.vm.annotation.Stable;
import jdk.internal.vm.annotation.Hidden;

/**
 * What is known of the places in the code that access fields: found out when a place is reached for the
 * first time, for then the class that declares the field is there. A compiler takes what it finds here
 * for constant, so a place that is known never changes.
 *
 * <p>A cell is 0 as long as nothing is known. From the top it has the offset of the id in the objects (16
 * bits, 0 if they keep none), the group of the fields (16), how many words after the id the word of the filter lies (8, with
 * a sign, 0 if none is used), the bits of reads of the fields in an entry of the filter (16), and flags.
 */
final class UnsnarlSites {
    // As crates/agent/src/fields.rs has them.
    /** The access orders threads and takes a number. */
    static final long NUMBERED = 2;
    /** The access need not be recorded. */
    static final long SKIPPED = 4;
    /** The field has a group. */
    static final long GROUPED = 8;
    /** The access need not be recorded any more: others are recorded in its place. */
    private static final long ONCE = 16;
    /** What is known of the place holds for this time only. */
    private static final long NOT_YET = 32;
    /** The field is written by the initializer of its class alone: a thread that has read it once knows all of that. */
    static final long CONSTANT = 64;
    private static final long RESOLVED = 1;
    private static final int BITS = 8;
    private static final int SEEN = 24;
    private static final int GROUP = 32;
    private static final int OFFSET = 48;

    static final int PAGE_BITS = 10;
    static final int PAGES = 1 << 14;

    /** Of how many threads it is recorded how they came to a place. */
    private static final int VISITORS_TOLD = 64;

    @Stable
    private static final long[][] CELLS = new long[PAGES][];

    /** How many threads have come to each place. */
    private static final byte[][] VISITORS = new byte[PAGES][];

    private static final UnsnarlOffsets OFFSETS = new UnsnarlOffsets();

    private UnsnarlSites() {}

    @Hidden
    static long cell(int site) {
        long[] page = site >>> PAGE_BITS < PAGES ? CELLS[site >>> PAGE_BITS] : null;
        return page == null ? 0 : page[site & (1 << PAGE_BITS) - 1];
    }

    /** Whether an access need not be recorded, whatever it is to. Asked before anything is loaded that would be in vain. */
    @Hidden
    static boolean isSkipped(int site) {
        return (cell(site) & SKIPPED) != 0;
    }

    /**
     * The cell of an access to so many fields of an object, or to a static field if there is none; 0 if it cannot be
     * known yet.
     */
    @Hidden
    static long resolved(int site, int count, Object object) {
        long cell = cell(site);
        return cell != 0 ? cell : resolve(site, count, object);
    }

    @Hidden
    private static long resolve(int site, int count, Object object) {
        long cell = UnsnarlNative.site(site, count);
        if (cell == 0) {
            return 0;
        }
        if (object != null) {
            long offsets = offsetsBelow(UnsnarlNative.declaringClass(count == 1 ? site : site + 1), object.getClass());
            cell |= offsets << OFFSET | offsets >>> Integer.SIZE << SEEN;
        }
        int number = site >>> PAGE_BITS;
        if (number < PAGES && (cell & NOT_YET) == 0) {
            synchronized (CELLS) {
                if (CELLS[number] == null) {
                    CELLS[number] = new long[1 << PAGE_BITS];
                }
            }
            CELLS[number][site & (1 << PAGE_BITS) - 1] = (cell & ONCE) == 0 ? cell : RESOLVED | SKIPPED;
        }
        return cell;
    }

    /** Whether few threads came to a place before this one; some may be counted as one. */
    @Hidden
    static boolean isOneOfTheFirst(int site) {
        int number = site >>> PAGE_BITS;
        if (site == 0 || number >= PAGES) {
            return false;
        }
        byte[] page = VISITORS[number];
        if (page == null) {
            page = new byte[1 << PAGE_BITS];
            VISITORS[number] = page;
        }
        int place = site & (1 << PAGE_BITS) - 1;
        if (page[place] >= VISITORS_TOLD) {
            return false;
        }
        page[place]++;
        return true;
    }

    /** The offsets that all instances of the named class have, which is {@code type} or one above it. */
    @Hidden
    private static long offsetsBelow(String name, Class<?> type) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            if (each.getName().equals(name)) {
                return OFFSETS.get(each);
            }
        }
        return 0;
    }

    /** Where instances of a class keep their ids. */
    @Hidden
    static long offset(Class<?> type) {
        return (int) (long) OFFSETS.get(type);
    }

    /** Where instances of a class that keep their ids have the word of the filter; 0 if none is used. */
    @Hidden
    static long seen(Class<?> type) {
        long offsets = OFFSETS.get(type);
        return seen((int) offsets, (byte) (offsets >>> Integer.SIZE));
    }

    @Hidden
    static long offset(long cell) {
        return cell >>> OFFSET;
    }

    @Hidden
    static long seen(long cell) {
        return seen(offset(cell), (byte) (cell >>> SEEN));
    }

    @Hidden
    private static long seen(long id, byte behind) {
        return behind == 0 ? 0 : id + behind * Long.BYTES;
    }

    @Hidden
    static int group(long cell) {
        return (int) (cell >>> GROUP) & 0xFFFF;
    }

    @Hidden
    static long bits(long cell) {
        return cell >>> BITS & 0xFFFF;
    }
}
