package java.lang;

import jdk.internal.vm.annotation.Hidden;

/**
 * The tokens by which threads are known in the words of objects ({@link UnsnarlThread#covers}): a slot, and below it an epoch
 * of the thread that has the slot. No token is given twice: the slot of a thread that has ended goes to another one with the
 * epoch after its last.
 */
final class UnsnarlTokens {
    private static final int EPOCH = 22;
    private static final int SLOT = 44;
    /** So few that no word looks like an id. */
    private static final long SLOTS = UnsnarlIdentity.MARK >>> SLOT;
    private static final long[] FREE = new long[1024];
    private static int free;
    private static long next = 1;

    private UnsnarlTokens() {}

    /** A token for a thread that has none; 0 if there is none left. */
    @Hidden
    static long take() {
        synchronized (FREE) {
            if (free > 0) {
                return FREE[--free];
            }
            return next < SLOTS ? next++ << SLOT : 0;
        }
    }

    /** The token of the next epoch of a thread that has one. */
    @Hidden
    static long following(long token) {
        long following = token + (1L << EPOCH);
        return isOfOne(token, following) ? following : take();
    }

    /** A thread does not need its slot any more. */
    @Hidden
    static void giveBack(long token) {
        long following = token + (1L << EPOCH);
        synchronized (FREE) {
            if (isOfOne(token, following) && free < FREE.length) {
                FREE[free++] = following;
            }
        }
    }

    /** Whether two tokens, or words that begin with tokens, are of one slot. */
    @Hidden
    static boolean isOfOne(long one, long other) {
        return one >>> SLOT == other >>> SLOT;
    }
}
