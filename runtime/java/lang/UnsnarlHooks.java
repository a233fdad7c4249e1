package java.lang;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the probes in rewritten classes call. Every method returns on null, so that the instruction
 * after the probe throws its own exception, and never calls a method of the program.
 *
 * <p>Synchronization takes a number from a counter that all threads share: what releases takes it
 * before the operation, what acquires after it.
 */
public final class UnsnarlHooks {
    // The kinds of events, as crates/recording/src/format.rs has them.
    private static final int FIELD_READ = 1;
    private static final int FIELD_WRITE = 2;
    private static final int STATIC_READ = 3;
    private static final int STATIC_WRITE = 4;
    static final int ARRAY_READ = 5;
    static final int ARRAY_WRITE = 6;
    static final int NUMBERED_READ = 7;
    static final int NUMBERED_WRITE = 8;
    static final int NUMBERED_STATIC_READ = 9;
    static final int NUMBERED_STATIC_WRITE = 10;
    private static final int MONITOR_ENTER = 11;
    private static final int MONITOR_EXIT = 12;
    private static final int WAIT = 13;
    static final int WAKE = 14;
    private static final int THREAD_START = 15;
    static final int THREAD_BEGIN = 16;
    private static final int THREAD_END = 17;
    private static final int THREAD_JOIN = 18;
    private static final int CLASS_INITIALIZED = 19;
    static final int OBJECT = 20;
    static final int GOES_ON = 21;
    static final int SWEEP_BEGINS = 22;
    static final int SWEEP_ENDS = 23;
    private static final int CONTENDED = 24;
    static final int CALL_OPERAND = 30;
    static final int CALL_BEGINS = 31;
    static final int CALL_ENDS = 32;
    static final int TASK_BEGINS = 33;
    static final int TASK_ENDS = 34;
    static final int THREAD_OBJECT = 35;
    static final int CALL_FAILS = 36;
    static final int CALL_LOOKS = 37;
    private static final int METHOD_ENTERS = 60;
    private static final int METHOD_EXITS = 61;
    private static final int ALLOCATED = 62;
    private static final int STORED = 63;
    static final int OWNED = 64;

    private static final String STATE_FIELD = "unsnarlState";
    private static final String TOKEN_FIELD = "unsnarlToken";
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Where the fields that the agent injected into Thread lie. */
    private static final long STATE = UNSAFE.objectFieldOffset(Thread.class, STATE_FIELD);
    static final long TOKEN = UNSAFE.objectFieldOffset(Thread.class, TOKEN_FIELD);

    private static final long APART = 128;

    static final boolean FILTERS = UnsnarlNative.filters();

    /** Where the next number lies: far from all else, since every thread that synchronizes writes there. */
    private static final long NEXT_NUMBER = apart();
    /** How many classes of the program have been initialized. */
    private static final AtomicInteger INITIALIZATIONS = new AtomicInteger();
    private static final AtomicLong NEXT_THREAD = new AtomicLong(1);

    private UnsnarlHooks() {}

    /** Memory for a number that begins with one, with nothing else within two lines of a cache. */
    @Hidden
    private static long apart() {
        long place = UNSAFE.allocateMemory(4 * APART) + 2 * APART & -APART;
        UNSAFE.putLong(place, 1);
        return place;
    }

    /** Called by the agent when everything is there; loads and initializes all classes of the runtime. */
    @Hidden
    static void prepare() {
        UnsnarlIdentity.prepare();
        UnsnarlArrays.prepare();
        UnsnarlCalls.prepare();
        UnsnarlExact.prepare();
        UnsnarlSweep.prepare();
        UnsnarlOwners.of(0);
        UnsnarlTokens.isOfOne(0, 0);
        UnsnarlLooks.sends(0);
        UnsnarlIds.known(Thread.currentThread());
        UnsnarlSites.offset(Thread.class);
        state(Thread.currentThread());
    }

    @Hidden
    public static void fieldRead(Object object, int site) {
        if (object != null && !UnsnarlSites.isSkipped(site) && !isSeen(object, site, UnsnarlThread.READ)) {
            UnsnarlThread thread = current();
            if (!isRedundant(thread, object, site, UnsnarlThread.READ)) {
                access(thread, FIELD_READ, object, site, 1);
            }
        }
    }

    @Hidden
    public static void fieldReads(Object object, int site, int count) {
        if (object != null && !UnsnarlSites.isSkipped(site) && !isSeen(object, site, UnsnarlThread.READ)) {
            UnsnarlThread thread = current();
            if (!isRedundant(thread, object, site, UnsnarlThread.READ)) {
                access(thread, FIELD_READ, object, site, count);
            }
        }
    }

    @Hidden
    public static void fieldWrite(Object object, int site) {
        if (object != null && !UnsnarlSites.isSkipped(site) && !isSeen(object, site, UnsnarlThread.WRITE)) {
            UnsnarlThread thread = current();
            if (!isRedundant(thread, object, site, UnsnarlThread.WRITE)) {
                access(thread, FIELD_WRITE, object, site, 1);
            }
        }
    }

    @Hidden
    public static void fieldWrites(Object object, int site, int count) {
        if (object != null && !UnsnarlSites.isSkipped(site) && !isSeen(object, site, UnsnarlThread.WRITE)) {
            UnsnarlThread thread = current();
            if (!isRedundant(thread, object, site, UnsnarlThread.WRITE)) {
                access(thread, FIELD_WRITE, object, site, count);
            }
        }
    }

    @Hidden
    public static void numberedReadBegins(Object object, int site) {
        if (object != null && !UnsnarlSites.isSkipped(site) && !isSeen(object, site, UnsnarlThread.READ)) {
            UnsnarlThread thread = current();
            if (!isRedundant(thread, object, site, UnsnarlThread.READ)) {
                readBegins(thread, object, site);
            }
        }
    }

    @DontInline
    @Hidden
    private static void readBegins(UnsnarlThread thread, Object object, int site) {
        if (isNumbered(site, object)) {
            thread.push(site, UnsnarlIds.identify(thread, object));
        } else {
            access(thread, FIELD_READ, object, site, 1);
        }
    }

    /** Of a field that is not volatile nothing is left of this in compiled code, so that it may go into all of it. */
    @ForceInline
    @Hidden
    public static void numberedReadEnds(int site) {
        long cell = UnsnarlSites.cell(site);
        if (cell == 0 || (cell & UnsnarlSites.NUMBERED) != 0) {
            readEnds(site);
        }
    }

    @DontInline
    @Hidden
    private static void readEnds(int site) {
        UnsnarlThread thread = current();
        long object = thread.pop(site);
        if (object != 0) {
            numbered(thread, NUMBERED_READ, site, object);
        }
    }

    @Hidden
    public static void numberedWrite(Object object, int site) {
        if (object != null && !UnsnarlSites.isSkipped(site) && !isSeen(object, site, UnsnarlThread.WRITE)) {
            UnsnarlThread thread = current();
            if (!isRedundant(thread, object, site, UnsnarlThread.WRITE)) {
                write(thread, object, site);
            }
        }
    }

    @DontInline
    @Hidden
    private static void write(UnsnarlThread thread, Object object, int site) {
        if (isNumbered(site, object)) {
            numbered(thread, NUMBERED_WRITE, site, UnsnarlIds.identify(thread, object));
            publish(thread);
        } else {
            access(thread, FIELD_WRITE, object, site, 1);
        }
    }

    @Hidden
    public static void staticRead(int site) {
        UnsnarlThread thread = current();
        if (!isRedundant(thread, site)) {
            access(thread, STATIC_READ, site);
        }
    }

    @Hidden
    public static void staticWrite(int site) {
        UnsnarlThread thread = current();
        if (!isRedundant(thread, site)) {
            access(thread, STATIC_WRITE, site);
        }
    }

    @Hidden
    public static void numberedStaticRead(int site) {
        UnsnarlThread thread = current();
        if (isNumbered(site, null)) {
            numbered(thread, NUMBERED_STATIC_READ, site);
        } else if (!isRedundant(thread, site)) {
            access(thread, STATIC_READ, site);
        }
    }

    @Hidden
    public static void numberedStaticWrite(int site) {
        UnsnarlThread thread = current();
        if (isNumbered(site, null)) {
            numbered(thread, NUMBERED_STATIC_WRITE, site);
            publish(thread);
        } else if (!isRedundant(thread, site)) {
            access(thread, STATIC_WRITE, site);
        }
    }

    /** Called where a method may be {@code Object.clone}: a copy of an object must not have its id. */
    @Hidden
    public static void cloned(Object original, Object copy) {
        if (original == copy || copy == null || original.getClass() != copy.getClass()) {
            return;
        }
        long offset = UnsnarlSites.offset(copy.getClass());
        if (offset != 0) {
            long id = UNSAFE.getLong(copy, offset);
            if (id != 0 && ((id ^ UNSAFE.getLong(original, offset)) & UnsnarlIdentity.MASK) == 0) {
                UNSAFE.putLong(copy, offset, 0);
                long seen = UnsnarlSites.seen(copy.getClass());
                if (seen != 0) {
                    UNSAFE.putLong(copy, seen, 0);
                }
            }
        }
    }

    @Hidden
    public static void monitorEntered(Object object, int site) {
        numbered(MONITOR_ENTER, object, site);
    }

    @Hidden
    public static void monitorLeaves(Object object, int site) {
        if (object != null) {
            UnsnarlThread thread = current();
            release(thread, MONITOR_EXIT, site, UnsnarlIds.identify(thread, object));
        }
    }

    /** Called by the agent when a thread finds a monitor taken. */
    @Hidden
    static void contended(Object object, int site) {
        numbered(CONTENDED, object, site);
    }

    /** The monitor is given up, unless waiting will fail because the thread has not got it. */
    @Hidden
    public static void waits(Object object, int site) {
        if (object != null && Thread.holdsLock(object)) {
            UnsnarlThread thread = current();
            release(thread, WAIT, site, UnsnarlIds.identify(thread, object));
        }
    }

    /** The thread has the monitor again, if it had it before. */
    @Hidden
    public static void wakes(Object object, int site) {
        if (object != null && Thread.holdsLock(object)) {
            numbered(WAKE, object, site);
        }
    }

    @Hidden
    public static void classInitialized(int site) {
        UnsnarlThread thread = current();
        numbered(thread, CLASS_INITIALIZED, site);
        publish(thread);
        INITIALIZATIONS.incrementAndGet();
    }

    /** Elements that are accessed from elsewhere are events of their own: ranges end. */
    @Hidden
    public static void methodEnters(int site) {
        UnsnarlThread thread = current();
        thread.endRanges();
        long place = thread.reserve(16);
        if (place != 0) {
            UNSAFE.putLong(place + 8, thread.caller & 0xFFFFFFFFL);
            thread.finish(place, 16, METHOD_ENTERS, site);
        }
    }

    /** After it the thread is where the method was called, which whoever reads the events knows. */
    @Hidden
    public static void methodExits(int site) {
        UnsnarlThread thread = current();
        thread.caller = 0;
        thread.endRanges();
        long place = thread.reserve(8);
        if (place != 0) {
            thread.finish(place, 8, METHOD_EXITS, site);
        }
    }

    @Hidden
    public static void calls(int site) {
        current().caller = site;
    }

    @Hidden
    public static void allocated(Object object, Object by, int site) {
        UnsnarlThread thread = current();
        if (UnsnarlOwners.makes(thread, object)) {
            return;
        }
        long id = UnsnarlIds.identify(thread, object);
        pair(thread, ALLOCATED, site, id, by == null ? 0 : UnsnarlIds.identify(thread, by));
        UnsnarlOwners.made(thread, id);
    }

    @Hidden
    public static void stored(Object container, Object value, int site) {
        if (container != null && value != null) {
            UnsnarlThread thread = current();
            pair(thread, STORED, site, UnsnarlIds.identify(thread, container), UnsnarlIds.identify(thread, value));
        }
    }

    /** A reference goes where everybody may see it. */
    @Hidden
    public static void published(Object value, int site) {
        if (value != null) {
            UnsnarlThread thread = current();
            pair(thread, STORED, site, 0, UnsnarlIds.identify(thread, value));
        }
    }

    @Hidden
    static void pair(UnsnarlThread thread, int kind, int site, long first, long second) {
        long place = thread.reserve(24);
        if (place != 0) {
            UNSAFE.putLong(place + 8, first);
            UNSAFE.putLong(place + 16, second);
            thread.finish(place, 24, kind, site);
        }
    }

    /** Called in Thread when it is about to start. That an object is this thread matters if it was recorded before. */
    @Hidden
    public static void threadStarts(Thread thread) {
        long object = UnsnarlIds.known(thread);
        if (object != 0) {
            pair(current(), THREAD_OBJECT, 0, object, state(thread).id);
        }
        UnsnarlThread starter = current();
        numbered(starter, THREAD_START, 0, state(thread).id);
        publish(starter);
    }

    /** Called in Thread by the thread itself, after all that it runs. */
    @Hidden
    public static void threadEnds(Thread thread) {
        UnsnarlThread ending = current();
        numbered(ending, THREAD_END, 0);
        ending.nextEpoch();
        ending.leaveSlot();
        UnsnarlExact.end(ending);
        ending.leaveChunk();
    }

    /** Called in Thread when a join returns, which it does as well when the time is over. */
    @Hidden
    public static void threadJoined(Thread thread) {
        UnsnarlThread joined = (UnsnarlThread) UNSAFE.getReference(thread, STATE);
        if (joined != null && !thread.isAlive()) {
            numbered(current(), THREAD_JOIN, 0, joined.id);
        }
    }

    /** Called in ProcessImpl: the command that is started instead, which is the same unless it is a JVM. */
    @Hidden
    public static String[] processStarts(String[] command) {
        if (command == null) {
            return null;
        }
        for (String part : command) {
            if (part == null || part.indexOf('\0') >= 0) {
                return command;
            }
        }
        String changed = UnsnarlNative.command(String.join("\0", command));
        return changed == null ? command : changed.split("\0", -1);
    }

    /** Called where a class is asked for its fields: those that the agent injected are not among them. */
    @Hidden
    public static Field[] visible(Field[] fields) {
        int count = 0;
        for (Field field : fields) {
            count += isInjected(field) ? 0 : 1;
        }
        if (count == fields.length) {
            return fields;
        }
        Field[] visible = new Field[count];
        count = 0;
        for (Field field : fields) {
            if (!isInjected(field)) {
                visible[count++] = field;
            }
        }
        return visible;
    }

    @Hidden
    private static boolean isInjected(Field field) {
        if (!field.isSynthetic()) {
            return false;
        }
        String name = field.getName();
        return name.equals(UnsnarlOffsets.ID_FIELD) || name.equals(UnsnarlOffsets.SEEN_FIELD)
                || name.equals(STATE_FIELD) || name.equals(TOKEN_FIELD);
    }

    @Hidden
    static UnsnarlThread current() {
        Thread thread = Thread.currentThread();
        UnsnarlThread state = (UnsnarlThread) UNSAFE.getReference(thread, STATE);
        return state != null ? state : state(thread);
    }

    /** The state of a thread, which is made when it is asked for, by the thread or by its starter. */
    @Hidden
    static UnsnarlThread state(Thread thread) {
        UnsnarlThread state = (UnsnarlThread) UNSAFE.getReference(thread, STATE);
        if (state == null) {
            state = new UnsnarlThread(thread, NEXT_THREAD.getAndIncrement());
            if (!UNSAFE.compareAndSetReference(thread, STATE, null, state)) {
                state = (UnsnarlThread) UNSAFE.getReference(thread, STATE);
            }
        }
        return state;
    }

    /** Whether an access to a field that takes a number if it is volatile has to take one. */
    @Hidden
    private static boolean isNumbered(int site, Object object) {
        long cell = UnsnarlSites.resolved(site, 1, object);
        return cell == 0 || (cell & UnsnarlSites.NUMBERED) != 0;
    }

    /** Whether the object itself shows that its fields were accessed by the thread in this epoch. */
    @ForceInline
    @Hidden
    private static boolean isSeen(Object object, int site, int kind) {
        long cell = UnsnarlSites.cell(site);
        long place = UnsnarlSites.seen(cell);
        if ((cell & UnsnarlSites.GROUPED) == 0 || place == 0) {
            return false;
        }
        long token = UNSAFE.getLong(Thread.currentThread(), TOKEN);
        long bits = kind * UnsnarlSites.bits(cell);
        return UnsnarlThread.covers(UNSAFE.getLong(object, place), token, UnsnarlSites.group(cell), bits);
    }

    /** Whether an access to a field need not be recorded, as far as can be seen fast. */
    @ForceInline
    @Hidden
    private static boolean isRedundant(UnsnarlThread thread, Object object, int site, int kind) {
        long cell = UnsnarlSites.cell(site);
        long offset = UnsnarlSites.offset(cell);
        if ((cell & UnsnarlSites.GROUPED) == 0 || offset == 0) {
            return false;
        }
        long id = UNSAFE.getLong(object, offset);
        return UnsnarlOwners.owns(thread, id) || thread.hasFields(id, UnsnarlSites.group(cell), kind * UnsnarlSites.bits(cell));
    }

    /** The filter knows static fields by the places that access them. */
    @ForceInline
    @Hidden
    private static boolean isRedundant(UnsnarlThread thread, int site) {
        long cell = UnsnarlSites.cell(site);
        if ((cell & UnsnarlSites.CONSTANT) != 0) {
            return thread.knowsConstant(site);
        }
        return FILTERS && (owns(thread, cell) || thread.has(Long.MIN_VALUE | site, 0, 0, UnsnarlThread.READ));
    }

    /** Whether a thread is the only one that has accessed the static fields of a class. */
    @ForceInline
    @Hidden
    private static boolean owns(UnsnarlThread thread, long cell) {
        return UnsnarlOwners.ARE_KNOWN && UnsnarlOwners.of(UnsnarlOwners.ofStatic(cell)) == (int) thread.id;
    }

    /**
     * Whether this is the first access of the thread since a class was initialized. It takes a number, so that it and
     * what follows come after the end of the initializer also where nothing else shows it.
     */
    @Hidden
    private static boolean followsInitialization(UnsnarlThread thread) {
        int now = INITIALIZATIONS.get();
        boolean follows = thread.initializations != now;
        thread.initializations = now;
        return follows;
    }

    @DontInline
    @Hidden
    private static void access(UnsnarlThread thread, int kind, int site) {
        long cell = UnsnarlSites.resolved(site, 1, null);
        if ((cell & UnsnarlSites.SKIPPED) != 0) {
            return;
        }
        long type = UnsnarlOwners.ofStatic(cell);
        int owner = UnsnarlOwners.of(type);
        if (owner == (int) thread.id) {
            return;
        }
        if ((cell & UnsnarlSites.CONSTANT) != 0) {
            thread.setConstant(site);
        } else if (FILTERS && owner != UnsnarlOwners.NOBODY) {
            thread.set(Long.MIN_VALUE | site, 0, 0, UnsnarlThread.READ);
        }
        if (followsInitialization(thread)) {
            numbered(thread, kind == STATIC_READ ? NUMBERED_STATIC_READ : NUMBERED_STATIC_WRITE, site);
        } else {
            long place = thread.reserve(8);
            if (place != 0) {
                thread.finish(place, 8, kind, site);
            }
        }
        if (type != 0) {
            UnsnarlOwners.accessed(thread, type, owner);
        }
    }

    @DontInline
    @Hidden
    private static void access(UnsnarlThread thread, int kind, Object object, int site, int count) {
        long cell = UnsnarlSites.resolved(site, count, object);
        if ((cell & UnsnarlSites.SKIPPED) != 0) {
            return;
        }
        if (count > 1 && (cell & UnsnarlSites.GROUPED) == 0) {
            for (int each = site + 1; each <= site + count; each++) {
                access(thread, kind, object, each, 1);
            }
            return;
        }
        long offset = UnsnarlSites.offset(cell);
        if (offset != 0 && UnsnarlOwners.owns(thread, UNSAFE.getLong(object, offset))) {
            return;
        }
        long id = offset != 0 ? UnsnarlIds.kept(thread, object, offset) : UnsnarlIds.identifyAccessed(thread, object);
        if (id == 0) {
            return;
        }
        int owner = UnsnarlOwners.of(id);
        if (owner == (int) thread.id) {
            return;
        }
        if ((cell & UnsnarlSites.GROUPED) != 0 && owner != UnsnarlOwners.NOBODY && id <= UnsnarlIdentity.LARGEST_FILTERED) {
            int asked = kind == FIELD_READ ? UnsnarlThread.READ : UnsnarlThread.WRITE;
            long bits = UnsnarlSites.bits(cell);
            int group = UnsnarlSites.group(cell);
            if (thread.hasFields(id, group, asked * bits)) {
                return;
            }
            // A read after a write is redundant as well.
            bits *= asked | UnsnarlThread.READ;
            long place = UnsnarlSites.seen(cell);
            if (place == 0 || !thread.marks(object, place, group, bits)) {
                thread.setFields(id, group, bits);
            }
        }
        int each = count == 1 ? site : site + 1;
        int end = each + count;
        if (followsInitialization(thread)) {
            numbered(thread, kind == FIELD_READ ? NUMBERED_READ : NUMBERED_WRITE, each, id);
            each++;
        }
        for (; each < end; each++) {
            tell(thread, kind, id, each);
        }
        UnsnarlOwners.accessed(thread, id, owner);
    }

    @Hidden
    private static void tell(UnsnarlThread thread, int kind, long id, int site) {
        long place = thread.reserve(16);
        if (place != 0) {
            UNSAFE.putLong(place + 8, id);
            thread.finish(place, 16, kind, site);
        }
    }

    /** What a thread has done can be seen by others, though it gave back no lock. Object races look at nothing else. */
    @Hidden
    static void publish(UnsnarlThread thread) {
        if (!UnsnarlOwners.ARE_KNOWN) {
            thread.nextEpoch();
        }
    }

    /** Records that a lock is given back. */
    @Hidden
    private static void release(UnsnarlThread thread, int kind, int site, long subject) {
        numbered(thread, kind, site, subject);
        thread.nextEpoch();
    }

    @Hidden
    private static void numbered(int kind, Object object, int site) {
        UnsnarlThread thread = current();
        numbered(thread, kind, site, UnsnarlIds.identify(thread, object));
    }

    @Hidden
    static void numbered(UnsnarlThread thread, int kind, int site, long subject) {
        thread.endRanges();
        long place = thread.reserve(24);
        if (place != 0) {
            UNSAFE.putLong(place + 8, UNSAFE.getAndAddLong(null, NEXT_NUMBER, 1));
            UNSAFE.putLong(place + 16, subject);
            thread.finish(place, 24, kind, site);
        }
    }

    @Hidden
    static void numbered(UnsnarlThread thread, int kind, int site) {
        thread.endRanges();
        long place = thread.reserve(16);
        if (place != 0) {
            UNSAFE.putLong(place + 8, UNSAFE.getAndAddLong(null, NEXT_NUMBER, 1));
            thread.finish(place, 16, kind, site);
        }
    }
}
