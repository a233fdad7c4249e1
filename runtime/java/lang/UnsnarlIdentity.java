package java.lang;

import java.util.concurrent.atomic.AtomicLong;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * Ids of objects: 46 bits, unique in a run, never an identity hash. Instances of watched classes keep
 * theirs, which are odd, in a field; all others have even ones, in a table of weak references in stripes
 * with a lock each. Entries of dead objects go when their stripe grows.
 */
final class UnsnarlIdentity {
    /** In a field an id has a mark above it, so that it is known for one where all fields are looked at. */
    static final long MARK = 0x5EA1L << 48;
    static final long MASK = (1L << 46) - 1;
    /** Besides the id: the object may be a task. */
    static final long NAMED = 1L << 46;
    /** The filter has no room for greater ones. Objects keep none of them. */
    static final long LARGEST_FILTERED = (1L << 32) - 1;

    private static final int STRIPES = 64;
    private static final UnsnarlIdentity[] ALL = new UnsnarlIdentity[STRIPES];

    static {
        for (int stripe = 0; stripe < STRIPES; stripe++) {
            ALL[stripe] = new UnsnarlIdentity(stripe);
        }
    }

    private static final AtomicLong KEPT = new AtomicLong(1);

    private final int stripe;
    private UnsnarlEntry[] buckets = new UnsnarlEntry[16];
    private int size;
    private long given;

    @Hidden
    private UnsnarlIdentity(int stripe) {
        this.stripe = stripe;
    }

    /** Makes sure that nothing has to be loaded later. */
    @Hidden
    static void prepare() {
        Object object = new Object();
        findOrAdd(object, System.identityHashCode(object), false);
    }

    /** Reserves so many ids for objects that keep them, and returns the end of the row. */
    @Hidden
    static long reserve(long count) {
        return KEPT.addAndGet(count);
    }

    /** How many ids its stripe had given when it gave this one. */
    @Hidden
    static long count(long id) {
        return id / (2 * STRIPES);
    }

    /** The id with a number of a reserved row. */
    @Hidden
    static long kept(long number) {
        return number << 1 | 1;
    }

    /** Writes the ids of living objects to memory for so many, and returns how many there are, which may be more. */
    @Hidden
    static long living(long address, long room) {
        long count = 0;
        for (UnsnarlIdentity stripe : ALL) {
            synchronized (stripe) {
                for (UnsnarlEntry first : stripe.buckets) {
                    for (UnsnarlEntry entry = first; entry != null; entry = entry.next) {
                        if (!entry.refersTo(null)) {
                            if (count < room) {
                                Unsafe.getUnsafe().putLong(address + 8 * count, entry.id);
                            }
                            count++;
                        }
                    }
                }
            }
        }
        return count;
    }

    /** The entry of an object, if it has one. */
    @Hidden
    static UnsnarlEntry find(Object object, int hash) {
        UnsnarlIdentity stripe = ALL[hash & STRIPES - 1];
        synchronized (stripe) {
            return stripe.get(object, hash);
        }
    }

    /** The entry of an object, which is internal if nobody had it before. */
    @Hidden
    static UnsnarlEntry findOrAdd(Object object, int hash, boolean internal) {
        UnsnarlIdentity stripe = ALL[hash & STRIPES - 1];
        synchronized (stripe) {
            UnsnarlEntry entry = stripe.get(object, hash);
            return entry != null ? entry : stripe.add(object, hash, internal);
        }
    }

    @Hidden
    private UnsnarlEntry get(Object object, int hash) {
        for (UnsnarlEntry entry = buckets[bucket(hash)]; entry != null; entry = entry.next) {
            if (entry.hash == hash && entry.refersTo(object)) {
                return entry;
            }
        }
        return null;
    }

    @Hidden
    private UnsnarlEntry add(Object object, int hash, boolean internal) {
        if (size >= buckets.length) {
            rehash();
        }
        long id = (++given * STRIPES + stripe) << 1;
        int bucket = bucket(hash);
        UnsnarlEntry entry = new UnsnarlEntry(object, id, hash, internal, buckets[bucket]);
        buckets[bucket] = entry;
        size++;
        return entry;
    }

    @Hidden
    private void rehash() {
        int living = 0;
        for (UnsnarlEntry first : buckets) {
            for (UnsnarlEntry entry = first; entry != null; entry = entry.next) {
                if (!entry.refersTo(null)) {
                    living++;
                }
            }
        }
        UnsnarlEntry[] old = buckets;
        buckets = new UnsnarlEntry[living > old.length / 2 ? 2 * old.length : old.length];
        size = 0;
        for (UnsnarlEntry first : old) {
            UnsnarlEntry next;
            for (UnsnarlEntry entry = first; entry != null; entry = next) {
                next = entry.next;
                if (!entry.refersTo(null)) {
                    int bucket = bucket(entry.hash);
                    entry.next = buckets[bucket];
                    buckets[bucket] = entry;
                    size++;
                }
            }
        }
    }

    @Hidden
    private int bucket(int hash) {
        return (hash >>> 6) & buckets.length - 1;
    }
}
