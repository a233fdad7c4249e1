package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/** The ids of objects, whether objects keep them in a field ({@link UnsnarlOffsets}) or have them in {@link UnsnarlIdentity}. */
final class UnsnarlIds {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Whether classes of the JDK are watched, and so are called by others of it that are not. */
    private static final boolean JDK = UnsnarlNative.watchesJdk();

    private UnsnarlIds() {}

    /** The id of an object, which it gets if it has none. */
    @Hidden
    static long identify(UnsnarlThread thread, Object object) {
        long offset = UnsnarlSites.offset(object.getClass());
        return offset != 0 ? kept(thread, object, offset) : entry(thread, object).id;
    }

    /** The same for an access; 0 if the object belongs to code of the JDK that is not watched. */
    @Hidden
    static long identifyAccessed(UnsnarlThread thread, Object object) {
        long offset = UnsnarlSites.offset(object.getClass());
        if (offset != 0) {
            return kept(thread, object, offset);
        }
        UnsnarlEntry entry = entry(thread, object);
        return entry.internal ? 0 : entry.id;
    }

    /** The id of an object that has one already; else 0. */
    @Hidden
    static long known(Object object) {
        long offset = UnsnarlSites.offset(object.getClass());
        if (offset != 0) {
            long id = UNSAFE.getLong(object, offset) & UnsnarlIdentity.MASK;
            UnsnarlOwners.tell(UnsnarlHooks.current(), object, id);
            return id;
        }
        UnsnarlEntry entry = UnsnarlIdentity.find(object, System.identityHashCode(object));
        return entry == null ? 0 : entry.id;
    }

    /** Remembers that a call is about an object that lets others run its methods: now it may be a task. */
    @Hidden
    static void name(UnsnarlThread thread, Object object) {
        long offset = UnsnarlSites.offset(object.getClass());
        if (offset == 0) {
            entry(thread, object).isNamed = true;
            return;
        }
        long word = UNSAFE.getLong(object, offset);
        if (word != 0 && (word & UnsnarlIdentity.NAMED) == 0) {
            UNSAFE.putLong(object, offset, word | UnsnarlIdentity.NAMED);
        }
    }

    /** The id of an object that may be a task; else 0. */
    @Hidden
    static long named(Object object) {
        long offset = UnsnarlSites.offset(object.getClass());
        if (offset != 0) {
            return (UNSAFE.getLong(object, offset) & UnsnarlIdentity.NAMED) == 0 ? 0 : known(object);
        }
        UnsnarlEntry entry = UnsnarlIdentity.find(object, System.identityHashCode(object));
        return entry == null || !entry.isNamed ? 0 : entry.id;
    }

    /** The id of an object that keeps it itself. */
    @Hidden
    static long kept(UnsnarlThread thread, Object object, long offset) {
        long id = UNSAFE.getLong(object, offset) & UnsnarlIdentity.MASK;
        if (id == 0) {
            id = thread.newId();
            if (id > UnsnarlIdentity.LARGEST_FILTERED) {
                return entry(thread, object).id;
            }
            if (!UNSAFE.compareAndSetLong(object, offset, 0, UnsnarlIdentity.MARK | id)) {
                return UNSAFE.getLong(object, offset) & UnsnarlIdentity.MASK;
            }
            tellClass(thread, id, object);
        } else {
            UnsnarlOwners.tell(thread, object, id);
        }
        return id;
    }

    /** The entry of an object that does not keep its id. */
    @Hidden
    static UnsnarlEntry entry(UnsnarlThread thread, Object object) {
        int hash = System.identityHashCode(object);
        UnsnarlEntry entry = thread.cached(hash);
        if (entry != null && entry.refersTo(object)) {
            return entry;
        }
        entry = UnsnarlIdentity.find(object, hash);
        if (entry == null) {
            entry = UnsnarlIdentity.findOrAdd(object, hash, JDK && UnsnarlNative.isInternal());
            if (object instanceof Class<?> type) {
                describe(entry, type);
                UnsnarlNative.hasInstances(type);
            } else {
                tellClass(thread, entry.id, object);
            }
            UnsnarlSweep.given(thread, entry.id);
        } else if (!entry.isDescribed && object instanceof Class<?> type) {
            describe(entry, type);
        }
        thread.cache(hash, entry);
        return entry;
    }

    /** Tells the name of a class. Who finds the id of another thread does it as well, so that no event comes before the name. */
    @Hidden
    private static void describe(UnsnarlEntry entry, Class<?> type) {
        UnsnarlNative.describe(UnsnarlNative.CLASS, entry.id, type.getName());
        entry.isDescribed = true;
    }

    @Hidden
    static void tellClass(UnsnarlThread thread, long id, Object object) {
        thread.tells(id);
        UnsnarlHooks.pair(thread, UnsnarlHooks.OBJECT, 0, id, entry(thread, object.getClass()).id);
    }
}
