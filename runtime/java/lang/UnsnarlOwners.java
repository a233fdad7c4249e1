package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Who owns an object, as long as nobody else has accessed it [vonPraun04 §7.1]:
 * the thread that has made it or, if that was not seen, the first that accesses it. What the owner does to it tells
 * nothing and is not recorded; once another thread has come, all is that a thread does first since it gave back a lock. A
 * class with its static fields is an object.
 *
 * <p>A table outside of the heap has four bytes for every id. What changes the owner is recorded first and takes a number
 * after that, so that whoever reads the events sees the owners that there were here. Objects whose ids are too great for
 * the table count as shared. Of an object that keeps its own id nothing is recorded while only its maker uses it, not even
 * that it is there: the next thread records who has made it.
 */
final class UnsnarlOwners {
    static final int NOBODY = 0;
    static final int SHARED = -1;

    /** Besides the owner: nobody has told of the object. */
    private static final int UNTOLD = 1 << 30;

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final long IDS = 1L << 30;
    /** Classes with static fields have their groups, negative, for ids. */
    private static final long CLASSES = 1L << 16;
    /** Where the entry of id 0 lies; 0 if what owners do is recorded. */
    private static final long TABLE = table(UnsnarlNative.owners((CLASSES + IDS) << 2));
    static final boolean ARE_KNOWN = TABLE != 0;

    private UnsnarlOwners() {}

    @Hidden
    private static long table(long memory) {
        return memory == 0 ? 0 : memory + (CLASSES << 2);
    }

    /** What stands for the class of a static field among ids; 0 if that is not known. */
    @ForceInline
    @Hidden
    static long ofStatic(long cell) {
        return -UnsnarlSites.group(cell);
    }

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
        return TABLE != 0 && (of(kept & UnsnarlIdentity.MASK) & ~UNTOLD) == (int) thread.id;
    }

    /** A thread makes an object; whether that need not be recorded yet. */
    @Hidden
    static boolean makes(UnsnarlThread thread, Object object) {
        if (TABLE == 0) {
            return false;
        }
        long offset = UnsnarlSites.offset(object.getClass());
        if (offset == 0) {
            return false;
        }
        long known = UNSAFE.getLong(object, offset) & UnsnarlIdentity.MASK;
        if (known != 0) {
            return of(known) != NOBODY;
        }
        long id = thread.newId();
        if (id >= IDS) {
            return false;
        }
        UNSAFE.putInt(TABLE + (id << 2), (int) thread.id | UNTOLD);
        return UNSAFE.compareAndSetLong(object, offset, 0, UnsnarlIdentity.MARK | id);
    }

    /** Tells of an object with an id, if nobody has. */
    @ForceInline
    @Hidden
    static void tell(UnsnarlThread thread, Object object, long id) {
        if (TABLE != 0 && id != 0) {
            int owner = of(id);
            if (owner != SHARED && (owner & UNTOLD) != 0) {
                tell(thread, object, id, owner);
            }
        }
    }

    @Hidden
    private static void tell(UnsnarlThread thread, Object object, long id, int owner) {
        UnsnarlIds.tellClass(thread, id, object);
        UnsnarlHooks.pair(thread, UnsnarlHooks.OWNED, 0, id, owner & ~UNTOLD);
        UnsnarlHooks.numbered(thread, UnsnarlHooks.GOES_ON, 0);
        UNSAFE.compareAndSetInt(null, TABLE + (id << 2), owner, owner & ~UNTOLD);
    }

    /** A thread has made an object that was recorded, and that nobody else can have accessed. */
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
