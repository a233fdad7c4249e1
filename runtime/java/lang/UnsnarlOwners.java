package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Who owns an object, as long as nobody else has accessed it (C. von Praun, Detecting Synchronization Defects, section
 * 7.1): the thread that has made it or, if that was not seen, the first that accesses it. What the owner does to it tells
 * nothing and is not recorded; once another thread has come, all is.
 *
 * <p>A table outside of the heap has four bytes for every id. What changes the owner is recorded first and takes a number
 * behind that, so that whoever reads the events sees the owners that there were here. Objects whose ids are too great for
 * the table count as shared.
 */
final class UnsnarlOwners {
    static final int NOBODY = 0;
    static final int SHARED = -1;

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final long IDS = 1L << 30;
    /** Where the table lies; 0 if what owners do is recorded. */
    private static final long TABLE = UnsnarlNative.owners(IDS << 2);

    private UnsnarlOwners() {}

    /** The owner of an object. */
    @ForceInline
    @Hidden
    static int of(long id) {
        return TABLE != 0 && id < IDS ? UNSAFE.getInt(TABLE + (id << 2)) : SHARED;
    }

    /** Whether a thread owns an object, by the word in which the object keeps its id. */
    @ForceInline
    @Hidden
    static boolean owns(UnsnarlThread thread, long kept) {
        return TABLE != 0 && of(kept & UnsnarlIdentity.MASK) == (int) thread.id;
    }

    /** A thread has made an object, which nobody else can have accessed. */
    @Hidden
    static void made(UnsnarlThread thread, long id) {
        if (of(id) == NOBODY) {
            UNSAFE.compareAndSetInt(null, TABLE + (id << 2), NOBODY, (int) thread.id);
        }
    }

    /** A thread has recorded an access to an object that it did not own: now it does, or the object is shared. */
    @Hidden
    static void accessed(UnsnarlThread thread, long id, int owner) {
        if (owner == SHARED) {
            return;
        }
        UnsnarlHooks.numbered(thread, UnsnarlHooks.GOES_ON, 0);
        int next = owner == NOBODY ? (int) thread.id : SHARED;
        if (!UNSAFE.compareAndSetInt(null, TABLE + (id << 2), owner, next)) {
            // Another thread came at the same time, and has recorded its access too.
            UNSAFE.putIntVolatile(null, TABLE + (id << 2), SHARED);
        }
    }
}
