package java.lang;

import java.lang.reflect.Array;
import java.util.concurrent.atomic.AtomicLong;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the probes in rewritten classes call. Every method returns on null, so that the instruction
 * behind the probe throws its own exception, and never calls a method of the program.
 *
 * <p>Synchronization takes a number from a counter that all threads share: what releases takes it
 * before the operation, what acquires after it.
 */
public final class UnsnarlHooks {
    // The kinds of events, as crates/trace/src/session/format.rs has them.
    private static final int FIELD_READ = 1;
    private static final int FIELD_WRITE = 2;
    private static final int STATIC_READ = 3;
    private static final int STATIC_WRITE = 4;
    private static final int ARRAY_READ = 5;
    private static final int ARRAY_WRITE = 6;
    private static final int NUMBERED_READ = 7;
    private static final int NUMBERED_WRITE = 8;
    private static final int NUMBERED_STATIC_READ = 9;
    private static final int NUMBERED_STATIC_WRITE = 10;
    private static final int MONITOR_ENTER = 11;
    private static final int MONITOR_EXIT = 12;
    private static final int WAIT = 13;
    private static final int WAKE = 14;
    private static final int THREAD_START = 15;
    static final int THREAD_BEGIN = 16;
    private static final int THREAD_END = 17;
    private static final int THREAD_JOIN = 18;
    private static final int CLASS_INITIALIZED = 19;
    private static final int OBJECT = 20;
    static final int GOES_ON = 21;
    static final int CALL_OPERAND = 30;
    static final int CALL_BEGINS = 31;
    static final int CALL_ENDS = 32;
    static final int TASK_BEGINS = 33;
    static final int TASK_ENDS = 34;
    static final int THREAD_OBJECT = 35;
    static final int CALL_FAILS = 36;

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Where the field that the agent injected into Thread lies. */
    private static final long STATE = UNSAFE.objectFieldOffset(Thread.class, "unsnarlState");

    private static final AtomicLong NEXT_NUMBER = new AtomicLong(1);
    private static final AtomicLong NEXT_THREAD = new AtomicLong(1);

    private UnsnarlHooks() {}

    /** Called by the agent when everything is there; loads and initializes all classes of the runtime. */
    static void prepare() {
        UnsnarlIdentity.prepare();
        UnsnarlCalls.prepare();
        state(Thread.currentThread());
    }

    @Hidden
    public static void fieldRead(Object object, int site) {
        if (object != null) {
            access(FIELD_READ, object, site);
        }
    }

    @Hidden
    public static void fieldWrite(Object object, int site) {
        if (object != null) {
            access(FIELD_WRITE, object, site);
        }
    }

    @Hidden
    public static void numberedReadBegins(Object object, int site) {
        if (object != null) {
            UnsnarlThread thread = current();
            thread.push(site, identify(thread, object));
        }
    }

    @Hidden
    public static void numberedReadEnds(int site) {
        UnsnarlThread thread = current();
        long object = thread.pop(site);
        if (object != 0) {
            numbered(thread, NUMBERED_READ, site, object);
        }
    }

    @Hidden
    public static void numberedWrite(Object object, int site) {
        if (object != null) {
            numbered(NUMBERED_WRITE, object, site);
        }
    }

    @Hidden
    public static void staticRead(int site) {
        access(STATIC_READ, site);
    }

    @Hidden
    public static void staticWrite(int site) {
        access(STATIC_WRITE, site);
    }

    @Hidden
    public static void numberedStaticRead(int site) {
        numbered(current(), NUMBERED_STATIC_READ, site);
    }

    @Hidden
    public static void numberedStaticWrite(int site) {
        numbered(current(), NUMBERED_STATIC_WRITE, site);
    }

    @Hidden
    public static void arrayRead(Object array, int index, int site) {
        if (array != null && index >= 0 && index < Array.getLength(array)) {
            element(ARRAY_READ, array, index, site);
        }
    }

    @Hidden
    public static void arrayWrite(Object array, int index, int site) {
        if (array != null && index >= 0 && index < Array.getLength(array)) {
            element(ARRAY_WRITE, array, index, site);
        }
    }

    @Hidden
    public static void monitorEntered(Object object, int site) {
        numbered(MONITOR_ENTER, object, site);
    }

    @Hidden
    public static void monitorLeaves(Object object, int site) {
        if (object != null) {
            numbered(MONITOR_EXIT, object, site);
        }
    }

    @Hidden
    public static void waitOn(Object object, int site) throws InterruptedException {
        if (!waits(object, site)) {
            object.wait();
            return;
        }
        try {
            object.wait();
        } finally {
            numbered(WAKE, object, site);
        }
    }

    @Hidden
    public static void waitOn(Object object, long millis, int site) throws InterruptedException {
        if (!waits(object, site)) {
            object.wait(millis);
            return;
        }
        try {
            object.wait(millis);
        } finally {
            numbered(WAKE, object, site);
        }
    }

    @Hidden
    public static void waitOn(Object object, long millis, int nanos, int site)
            throws InterruptedException {
        if (!waits(object, site)) {
            object.wait(millis, nanos);
            return;
        }
        try {
            object.wait(millis, nanos);
        } finally {
            numbered(WAKE, object, site);
        }
    }

    /** Reports that the monitor is given up, unless waiting will fail because the thread has not got it. */
    private static boolean waits(Object object, int site) {
        if (object == null || !Thread.holdsLock(object)) {
            return false;
        }
        numbered(WAIT, object, site);
        return true;
    }

    @Hidden
    public static void classInitialized(int site) {
        numbered(current(), CLASS_INITIALIZED, site);
    }

    /** Called in Thread when it is about to start. */
    @Hidden
    public static void threadStarts(Thread thread) {
        numbered(current(), THREAD_START, 0, state(thread).id);
    }

    /** Called in Thread by the thread itself, behind all that it runs. */
    @Hidden
    public static void threadEnds(Thread thread) {
        UnsnarlThread state = current();
        numbered(state, THREAD_END, 0);
        state.leaveChunk();
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

    static UnsnarlThread current() {
        Thread thread = Thread.currentThread();
        UnsnarlThread state = (UnsnarlThread) UNSAFE.getReference(thread, STATE);
        return state != null ? state : state(thread);
    }

    /** The state of a thread, which is made when it is asked for, by the thread or by its starter. */
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

    private static void access(int kind, int site) {
        UnsnarlThread thread = current();
        long place = thread.reserve(8);
        if (place != 0) {
            thread.finish(place, 8, kind, site);
        }
    }

    private static void access(int kind, Object object, int site) {
        UnsnarlThread thread = current();
        long id = identify(thread, object);
        long place = thread.reserve(16);
        if (place != 0) {
            UNSAFE.putLong(place + 8, id);
            thread.finish(place, 16, kind, site);
        }
    }

    private static void element(int kind, Object array, int index, int site) {
        UnsnarlThread thread = current();
        long id = identify(thread, array);
        long place = thread.reserve(24);
        if (place != 0) {
            UNSAFE.putLong(place + 8, id);
            UNSAFE.putLong(place + 16, index);
            thread.finish(place, 24, kind, site);
        }
    }

    private static void numbered(int kind, Object object, int site) {
        UnsnarlThread thread = current();
        numbered(thread, kind, site, identify(thread, object));
    }

    static void numbered(UnsnarlThread thread, int kind, int site, long subject) {
        long place = thread.reserve(24);
        if (place != 0) {
            UNSAFE.putLong(place + 8, NEXT_NUMBER.getAndIncrement());
            UNSAFE.putLong(place + 16, subject);
            thread.finish(place, 24, kind, site);
        }
    }

    static void numbered(UnsnarlThread thread, int kind, int site) {
        long place = thread.reserve(16);
        if (place != 0) {
            UNSAFE.putLong(place + 8, NEXT_NUMBER.getAndIncrement());
            thread.finish(place, 16, kind, site);
        }
    }

    /** The id of an object. With a new one, its class is told first. */
    static long identify(UnsnarlThread thread, Object object) {
        int hash = System.identityHashCode(object);
        UnsnarlEntry entry = thread.cached(hash);
        if (entry != null && entry.refersTo(object)) {
            return entry.id;
        }
        entry = UnsnarlIdentity.find(object, hash);
        if (entry == null) {
            entry = UnsnarlIdentity.findOrAdd(object, hash);
            if (object instanceof Class<?> type) {
                UnsnarlNative.describe(UnsnarlNative.CLASS, entry.id, type.getName());
            } else {
                long type = identify(thread, object.getClass());
                long place = thread.reserve(24);
                if (place != 0) {
                    UNSAFE.putLong(place + 8, entry.id);
                    UNSAFE.putLong(place + 16, type);
                    thread.finish(place, 24, OBJECT, 0);
                }
            }
        }
        thread.cache(hash, entry);
        return entry.id;
    }
}
