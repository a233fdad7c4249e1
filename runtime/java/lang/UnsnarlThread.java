package java.lang;

import java.util.Arrays;
import jdk.internal.misc.Unsafe;

/** What the runtime keeps for a thread. Only the thread itself changes it. */
final class UnsnarlThread {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final int SMALLEST_CHUNK = 512;
    private static final int LARGEST_CHUNK = 64 * 1024;
    private static final int CACHE = 256;
    /** Behind the last event of a chunk. */
    private static final long END_OF_CHUNK = 255;

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
    private boolean off;

    private final Thread thread;
    private UnsnarlEntry[] cache;

    /** Reads that have begun and not ended: a read may load classes, and so run other code. */
    private int[] pendingSites;
    private long[] pendingObjects;
    private int pending;

    UnsnarlThread(Thread thread, long id) {
        this.thread = thread;
        this.id = id;
    }

    /** Room for an event of so many bytes; 0 if there is none left, then nothing is reported any more. */
    long reserve(int bytes) {
        long place = position;
        return place + bytes <= limit ? place : refill(bytes);
    }

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
            UnsnarlNative.describe(UnsnarlNative.THREAD, id, thread.getName());
            UnsnarlHooks.numbered(this, UnsnarlHooks.THREAD_BEGIN, 0);
        }
        return reserve(bytes);
    }

    /** Says that nothing more goes into the chunk, so that it can be used again. */
    void leaveChunk() {
        if (position < limit) {
            UNSAFE.putLongRelease(null, position, END_OF_CHUNK);
        }
        position = 0;
        limit = 0;
    }

    /** Ends an event: its first word, which is not zero, makes it visible to readers. */
    void finish(long place, int bytes, int kind, int site) {
        UNSAFE.putLongRelease(null, place, (long) site << 8 | kind);
        position = place + bytes;
    }

    UnsnarlEntry cached(int hash) {
        return cache == null ? null : cache[hash & CACHE - 1];
    }

    void cache(int hash, UnsnarlEntry entry) {
        if (cache == null) {
            cache = new UnsnarlEntry[CACHE];
        }
        cache[hash & CACHE - 1] = entry;
    }

    void push(int site, long object) {
        if (pendingSites == null) {
            pendingSites = new int[4];
            pendingObjects = new long[4];
        } else if (pending == pendingSites.length) {
            pendingSites = Arrays.copyOf(pendingSites, 2 * pending);
            pendingObjects = Arrays.copyOf(pendingObjects, 2 * pending);
        }
        pendingSites[pending] = site;
        pendingObjects[pending] = object;
        pending++;
    }

    /** The object of the last read that began at the site. Those above it have failed. */
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
