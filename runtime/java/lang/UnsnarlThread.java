package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the runtime keeps for a thread. Only the thread itself changes it.
 *
 * <p>The filter knows which variables the thread has accessed since its last release: its <em>epoch</em>.
 * A read after a read or write of the same epoch, and a write after a write, are redundant for
 * happens-before [Flanagan09 §3, same epoch].
 *
 * <p>An object has a word for that, which belongs to the thread that came first and seldom changes hands: it is the
 * fastest to ask. For other threads, for the other groups of fields of an object, for arrays and for static fields a table of
 * the thread's own has the rest, so that readers of shared objects do not write to them. What is pushed out of the table, or
 * out of a word that changes hands, is recorded once more.
 */
final class UnsnarlThread {
    static final int READ = 1;
    static final int WRITE = 2;

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final int SMALLEST_CHUNK = 512;
    private static final int LARGEST_CHUNK = 64 * 1024;
    private static final int TOLD = 256;
    private static final int FEWEST_CONSTANTS = 64;
    private static final int MOST_CONSTANTS = 4096;
    private static final int[] NO_CONSTANTS = new int[1];
    private static final int SMALLEST_CACHE = 64;
    private static final int LARGEST_CACHE = 8192;
    private static final UnsnarlEntry[] NO_CACHE = new UnsnarlEntry[1];
    /** After the last event of a chunk. */
    private static final long END_OF_CHUNK = 255;
    private static final int RANGES = 64;
    private static final int LOOPS = 128;
    private static final long IDS = 256;

    /** The upper bits of the second word of an entry in the filter are its epoch. */
    private static final int EPOCH = 24;
    private static final long EPOCH_MASK = -1L << EPOCH;
    private static final int SMALLEST_FILTER = 64;
    private static final int LARGEST_FILTER = 16384;
    private static final long[] NO_FILTER = new long[2];
    /** In a word for fields the epoch is above the id, which is above the group of the object's fields and their bits. */
    private static final int FIELDS_EPOCH = 54;
    private static final int FIELDS_ID = 22;
    static final int FIELDS_GROUP = 16;
    private static final long[] NO_FIELDS = new long[1];
    /** Of how many accesses to objects whose words belong to others one takes the word over. */
    private static final int SELDOM = 16;
    /** How far the groups of an object lie apart in the table, beside the distance of objects. */
    private static final int GROUPS_APART = 8 * 1021;
    private static final boolean STACKS = UnsnarlNative.stacks();
    private static final long[] NO_SITES = {};
    /** Where the first element of an array of longs lies: Unsafe tells it by an int or a long, as the release may be. */
    static final long LONGS = findFirst(new long[] {0x756E736E61726CL});
    private static final UnsnarlRange NO_RANGE = new UnsnarlRange();
    private static final UnsnarlRange[] NO_RANGES = new UnsnarlRange[RANGES];

    static {
        for (int slot = 0; slot < RANGES; slot++) {
            NO_RANGES[slot] = NO_RANGE;
        }
    }

    /** Unique in a run. */
    final long id;

    /** Where the next event goes, and where the chunk ends. */
    private long position;
    private long limit;
    private int nextSize = SMALLEST_CHUNK;
    private long chunks;
    private boolean begun;
    /** How many calls of library methods were recorded. */
    int calls;
    private UnsnarlLooks looks;
    /** Objects whose class this thread has told, by their ids; one may give way to another. */
    private long[] told;
    /** The last place that may run other methods; 0 if a method was left since. Only where stacks are wanted. */
    int caller;
    /** The places from which the thread has reported, a bit each. */
    private long[] visited = NO_SITES;
    /** The places where the thread has read constants; one may give way to another. */
    private int[] constants = NO_CONSTANTS;
    private int constantsPushedOut = 1;
    /** How many classes had been initialized when the thread last looked. */
    int initializations;
    private boolean off;
    /** The stripe of {@link UnsnarlExact} that the thread has; 0 if none. */
    long stripe;

    /** Of fields a word each, as {@link #hasFields} has it; their epoch; and which bits of an offset lie in the table. */
    private long[] fields = NO_FIELDS;
    private long fieldsEpoch = 1L << FIELDS_EPOCH;
    private long fieldsMask;
    private int fieldsPushedOut = 1;
    private int foreign;

    /** Of all else, pairs of a key and the epoch with bits of accesses. */
    private long[] filter = NO_FILTER;
    private int filterMask;
    /** How many entries of the current epoch had to give way: too many, and the filter grows. */
    private int pushedOut = 1;
    private long epoch = 1L << EPOCH;

    private final Thread thread;
    /** Objects that do not keep their ids, by their hashes; how many had to give way: too many, and it grows. */
    private UnsnarlEntry[] cache = NO_CACHE;
    private int cachePushedOut = 1;
    private UnsnarlRange[] ranges = NO_RANGES;
    /** The ranges that were begun since the thread's last synchronization, a bit each. */
    private long growing;
    /** Arrays and sites of loops, with their first and last elements and the epoch. */
    private long[] loops;
    private long nextId;
    private long lastId;

    /** Reads that have begun and not ended: a read may load classes, and so run other code. */
    private int[] pendingSites;
    private long[] pendingObjects;
    private int pending;

    @Hidden
    private static long findFirst(long[] array) {
        long place = 8;
        while (UNSAFE.getLong(array, place) != array[0]) {
            place += 8;
        }
        return place;
    }

    @Hidden
    UnsnarlThread(Thread thread, long id) {
        this.thread = thread;
        this.id = id;
    }

    /** Room for an event of so many bytes; 0 if there is none left, then nothing is reported any more. */
    @Hidden
    long reserve(int bytes) {
        long place = position;
        return place + bytes <= limit ? place : refill(bytes);
    }

    @DontInline
    @Hidden
    private long refill(int bytes) {
        if (off) {
            return 0;
        }
        leaveChunk();
        int size = nextSize;
        long chunk = UnsnarlNative.chunk(id, chunks, size);
        if (chunk == 0) {
            off = true;
            return 0;
        }
        chunks++;
        nextSize = Math.min(2 * size, LARGEST_CHUNK);
        position = chunk;
        limit = chunk + UnsnarlNative.room(chunk);
        if (begun) {
            // So that whoever reads needs to keep no more than a chunk of a thread.
            UnsnarlHooks.numbered(this, UnsnarlHooks.GOES_ON, 0);
        } else {
            begun = true;
            int what = thread.isDaemon() ? UnsnarlNative.DAEMON : UnsnarlNative.THREAD;
            UnsnarlNative.describe(what, id, thread.getName());
            UnsnarlHooks.numbered(this, UnsnarlHooks.THREAD_BEGIN, 0);
        }
        return reserve(bytes);
    }

    /** Says that nothing more goes into the chunk, so that it can be used again. */
    @Hidden
    void leaveChunk() {
        if (position < limit) {
            UNSAFE.putLongRelease(null, position, END_OF_CHUNK);
        }
        position = 0;
        limit = 0;
    }

    @Hidden
    UnsnarlLooks looks() {
        if (looks == null) {
            looks = new UnsnarlLooks();
        }
        return looks;
    }

    /** Whether the thread should record the class of an object, because it may not have done so. */
    @Hidden
    boolean tells(long id) {
        if (told == null) {
            told = new long[TOLD];
        }
        int place = (int) (id ^ id >>> 6) & TOLD - 1;
        boolean tells = told[place] != id;
        told[place] = id;
        return tells;
    }

    /** Whether the thread has read a constant at a place. */
    @ForceInline
    @Hidden
    boolean knowsConstant(int site) {
        int[] constants = this.constants;
        return constants[site & constants.length - 1] == site;
    }

    @Hidden
    void setConstant(int site) {
        if (constantsPushedOut > constants.length / 4 && constants.length < MOST_CONSTANTS) {
            constants = new int[Math.max(FEWEST_CONSTANTS, 4 * constants.length)];
            constantsPushedOut = 0;
        }
        int place = site & constants.length - 1;
        constantsPushedOut += constants[place] == 0 ? 0 : 1;
        constants[place] = site;
    }

    /** Ends an event: its first word, which is not zero, makes it visible to readers. */
    @Hidden
    void finish(long place, int bytes, int kind, int site) {
        if (STACKS && kind <= UnsnarlHooks.WAKE && isNew(site)) {
            comesTo(site);
        }
        UNSAFE.putLongRelease(null, place, (long) site << 8 | kind);
        position = place + bytes;
    }

    @ForceInline
    @Hidden
    private boolean isNew(int site) {
        long[] visited = this.visited;
        int word = site >>> 6;
        return word >= visited.length || (visited[word] & 1L << site) == 0;
    }

    /** The thread reports from a place for the first time, or from one to which many had come before it. */
    @DontInline
    @Hidden
    private void comesTo(int site) {
        boolean isTold = UnsnarlSites.isOneOfTheFirst(site);
        int word = site >>> 6;
        if (word >= visited.length) {
            if (!isTold) {
                return;
            }
            long[] longer = new long[Math.max(word + 1, 2 * visited.length)];
            System.arraycopy(visited, 0, longer, 0, visited.length);
            visited = longer;
        }
        visited[word] |= 1L << site;
        if (isTold) {
            UnsnarlNative.stack(id, site);
        }
    }

    /** Called whenever the thread releases something: other threads may see what it has done. */
    @Hidden
    void nextEpoch() {
        epoch += 1L << EPOCH;
        if (epoch == 0) {
            clear(filter);
            epoch = 1L << EPOCH;
        }
        fieldsEpoch += 1L << FIELDS_EPOCH;
        if (fieldsEpoch == 0) {
            clear(fields);
            fieldsEpoch = 1L << FIELDS_EPOCH;
        }
        long token = UNSAFE.getLong(thread, UnsnarlHooks.TOKEN);
        if (token != 0) {
            UNSAFE.putLong(thread, UnsnarlHooks.TOKEN, UnsnarlTokens.following(token));
        }
    }

    /** The thread ends, and somebody else can have its slot. */
    @Hidden
    void leaveSlot() {
        long token = UNSAFE.getLong(thread, UnsnarlHooks.TOKEN);
        if (token != 0) {
            UNSAFE.putLong(thread, UnsnarlHooks.TOKEN, 0);
            UnsnarlTokens.giveBack(token);
        }
    }

    /** Whether the word of an object, or of the table, says that all of {@code bits} were set for a group of fields. */
    @ForceInline
    @Hidden
    static boolean covers(long word, long owner, int group, long bits) {
        long missing = word ^ (owner | (long) group << FIELDS_GROUP | bits);
        return (missing & (-1L << FIELDS_GROUP | bits)) == 0;
    }

    /** Sets bits of fields in the word of an object, unless it is another thread's or about another group of fields. */
    @Hidden
    boolean marks(Object object, long place, int group, long bits) {
        long token = UNSAFE.getLong(thread, UnsnarlHooks.TOKEN);
        if (token == 0) {
            token = UnsnarlTokens.take();
            if (token == 0) {
                return false;
            }
            UNSAFE.putLong(thread, UnsnarlHooks.TOKEN, token);
        }
        long known = UNSAFE.getLong(object, place);
        long key = token | (long) group << FIELDS_GROUP;
        if (known >>> FIELDS_GROUP == key >>> FIELDS_GROUP) {
            key = known;
        } else if (known >>> FIELDS_ID == token >>> FIELDS_ID) {
            return false;
        } else if (known != 0 && !UnsnarlTokens.isOfOne(known, token) && ++foreign % SELDOM != 0) {
            return false;
        }
        UNSAFE.putLong(object, place, key | bits);
        return true;
    }

    /** Nothing of java.util is called here: its classes may have probes. */
    @Hidden
    private static void clear(long[] words) {
        for (int place = 0; place < words.length; place++) {
            words[place] = 0;
        }
    }

    /**
     * Whether all of {@code bits} were set for fields of an object in this epoch: a word has all that is known of a group of
     * fields. The id is the one that the object keeps, which has 32 bits and is odd; what is above these is of no
     * importance.
     */
    @ForceInline
    @Hidden
    boolean hasFields(long id, int group, long bits) {
        return covers(UNSAFE.getLong(fields, fieldsPlace(id, group)), fieldsEpoch | id << FIELDS_ID, group, bits);
    }

    /** Sets bits of fields of an object. */
    @Hidden
    void setFields(long id, int group, long bits) {
        int size = fields.length;
        if (fieldsPushedOut > size / 8 && size < LARGEST_FILTER) {
            size = Math.max(SMALLEST_FILTER, 4 * size);
            fields = new long[size];
            fieldsMask = 8L * (size - 1);
            fieldsPushedOut = 0;
        }
        long place = fieldsPlace(id, group);
        long known = UNSAFE.getLong(fields, place);
        long key = fieldsEpoch | id << FIELDS_ID | (long) group << FIELDS_GROUP;
        if (known >>> FIELDS_GROUP == key >>> FIELDS_GROUP) {
            key = known;
        } else if (known >>> FIELDS_EPOCH == fieldsEpoch >>> FIELDS_EPOCH) {
            fieldsPushedOut++;
        }
        UNSAFE.putLong(fields, place, key | bits);
    }

    @ForceInline
    @Hidden
    private long fieldsPlace(long id, int group) {
        return LONGS + ((id << 2) + GROUPS_APART * group & fieldsMask);
    }

    /**
     * Whether all of {@code bits} were set for the key in this epoch. {@code tag} belongs to the key and
     * lies within {@code tagMask}, below the epoch and above the bits.
     */
    @ForceInline
    @Hidden
    boolean has(long key, long tag, long tagMask, long bits) {
        long[] filter = this.filter;
        long place = place(key);
        long otherKey = UNSAFE.getLong(filter, place) ^ key;
        long missing = (UNSAFE.getLong(filter, place + 8) ^ (epoch | tag | bits)) & (EPOCH_MASK | tagMask | bits);
        return (otherKey | missing) == 0;
    }

    /** Sets bits of a key. */
    @Hidden
    void set(long key, long tag, long tagMask, long bits) {
        if (pushedOut > filterMask / 8 && filterMask < LARGEST_FILTER - 1) {
            int entries = Math.max(SMALLEST_FILTER, 4 * (filterMask + 1));
            filter = new long[2 * entries];
            filterMask = entries - 1;
            pushedOut = 0;
        }
        long place = place(key);
        long known = UNSAFE.getLong(filter, place + 8);
        boolean current = (known & EPOCH_MASK) == epoch;
        if (current && UNSAFE.getLong(filter, place) == key && (known & tagMask) == tag) {
            UNSAFE.putLong(filter, place + 8, known | bits);
            return;
        }
        if (current) {
            pushedOut++;
        }
        UNSAFE.putLong(filter, place, key);
        UNSAFE.putLong(filter, place + 8, epoch | tag | bits);
    }

    @ForceInline
    @Hidden
    private long place(long key) {
        return LONGS + ((key * 0x9E3779B97F4A7C15L >>> 40 & filterMask) << 4);
    }

    /** An id for an object that keeps it itself. */
    @Hidden
    long newId() {
        if (nextId == lastId) {
            lastId = UnsnarlIdentity.reserve(IDS);
            nextId = lastId - IDS;
            UnsnarlSweep.consider(this, IDS);
        }
        return UnsnarlIdentity.kept(nextId++);
    }

    /** The entry that an object may have; null if it is not there. */
    @Hidden
    UnsnarlEntry cached(int hash) {
        UnsnarlEntry[] cache = this.cache;
        return cache[hash & cache.length - 1];
    }

    @Hidden
    void cache(int hash, UnsnarlEntry entry) {
        if (cachePushedOut > cache.length / 2 && cache.length < LARGEST_CACHE) {
            cache = new UnsnarlEntry[Math.max(SMALLEST_CACHE, 4 * cache.length)];
            cachePushedOut = 0;
        }
        int place = hash & cache.length - 1;
        cachePushedOut += cache[place] == null ? 0 : 1;
        cache[place] = entry;
    }

    /** What was last accessed at a site in an array, or at another site. */
    @Hidden
    UnsnarlRange range(int site) {
        return ranges[site & RANGES - 1];
    }

    /** The same, to be changed. */
    @Hidden
    UnsnarlRange ownRange(int site) {
        if (ranges == NO_RANGES) {
            ranges = NO_RANGES.clone();
        }
        int slot = site & RANGES - 1;
        if (ranges[slot] == NO_RANGE) {
            ranges[slot] = new UnsnarlRange();
        }
        return ranges[slot];
    }

    /** The access of an event that was just written is the first of a range. */
    @Hidden
    void beginRange(UnsnarlEntry array, int index, int site, long place) {
        ownRange(site).begin(array, index, site, place);
        growing |= 1L << (site & RANGES - 1);
    }

    /** Whether a loop at the site has accessed these elements in this epoch; from now on it has. */
    @Hidden
    boolean knowsLoop(long array, int site, int first, int last, int step) {
        if (loops == null) {
            loops = new long[4 * LOOPS];
        }
        int place = 4 * ((int) (array ^ array >>> 7) + site & LOOPS - 1);
        long elements = loops[place + 2];
        if (loops[place] == array && loops[place + 1] == site && loops[place + 3] == epoch
                && (int) elements <= first && last <= elements >>> 32 && (first - (int) elements) % step == 0) {
            return true;
        }
        loops[place] = array;
        loops[place + 1] = site;
        loops[place + 2] = first | (long) last << 32;
        loops[place + 3] = epoch;
        return false;
    }

    /** Called whenever the thread synchronizes: what it does from now on comes after that. */
    @Hidden
    void endRanges() {
        while (growing != 0) {
            ranges[Long.numberOfTrailingZeros(growing)].end();
            growing &= growing - 1;
        }
    }

    @Hidden
    void push(int site, long object) {
        if (pendingSites == null) {
            pendingSites = new int[4];
            pendingObjects = new long[4];
        } else if (pending == pendingSites.length) {
            int[] sites = new int[2 * pending];
            long[] objects = new long[2 * pending];
            System.arraycopy(pendingSites, 0, sites, 0, pending);
            System.arraycopy(pendingObjects, 0, objects, 0, pending);
            pendingSites = sites;
            pendingObjects = objects;
        }
        pendingSites[pending] = site;
        pendingObjects[pending] = object;
        pending++;
    }

    /** The object of the last read that began at the site. Those above it have failed. */
    @Hidden
    long pop(int site) {
        while (pending > 0) {
            pending--;
            if (pendingSites[pending] == site) {
                return pendingObjects[pending];
            }
        }
        return 0;
    }
}
