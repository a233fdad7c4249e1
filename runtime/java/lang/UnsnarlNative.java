package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/** What the agent does for the runtime. */
final class UnsnarlNative {
    /** How many bytes of a chunk are its header. */
    static final int CHUNK_HEADER = 24;
    /** What {@link #describe} is about. */
    static final int CLASS = 0;
    static final int THREAD = 1;
    static final int TEXT = 2;
    static final int DAEMON = 3;

    private UnsnarlNative() {}

    /** The address of the first event in a new chunk of a thread; 0 if there is no room. */
    @Hidden
    static native long chunk(long thread, long sequence, int size);

    /** How many bytes for events a chunk has, which may be more or fewer than were asked for. */
    @Hidden
    static int room(long chunk) {
        return Unsafe.getUnsafe().getInt(chunk - CHUNK_HEADER + 4) - CHUNK_HEADER;
    }

    /** The command that starts a JVM with the agent, with zeros between its parts; null for any other. */
    @Hidden
    static native String command(String command);

    /** Writes the name of a thing to the session. */
    @Hidden
    static native void describe(int what, long id, String name);

    /** How calls of a method, by its number, are recorded on objects of a class, as {@link UnsnarlModelled} has it. */
    @Hidden
    static native int models(int method, String type);

    /** Whether a class was loaded that may make streams parallel after their first operations. */
    @Hidden
    static native boolean mayBecomeParallel();

    /** The bytes of a hidden class with probes; null if it stays as it is. */
    @Hidden
    static native byte[] hidden(byte[] bytes);

    /** Which elements of arrays are recorded: the first index in the lower half, the one after the last above. */
    static native long elements();

    /** After how many new ids the living objects are recorded again, at least. */
    @Hidden
    static native long sweepEvery();

    /** For how many times what that took it is not done again. */
    @Hidden
    static native long sweepPause();

    /** How often the garbage collector has told that it has run. */
    @Hidden
    static native long collections();

    /** Tells that instances of a class may have ids. */
    @Hidden
    static native void hasInstances(Class<?> type);

    /**
     * Writes a list of the ids that living objects have: those in fields, which it looks for in the heap, and so many
     * more at an address. Returns how many there are; -1 if it could not be done.
     */
    @Hidden
    static native long sweep(long number, long address, long count);

    /** Lets another thread run, for a moment and without anything that the program could notice. */
    @Hidden
    static native void pause();

    /** Tells that an access may not be where its number says. */
    @Hidden
    static native void stripeTaken();

    /** Whether what is redundant is left out. */
    @Hidden
    static native boolean filters();

    /** Whether classes of the JDK are watched. */
    @Hidden
    static native boolean watchesJdk();

    /** Whether the code that reports was called by code of the JDK that is not watched. */
    @Hidden
    static native boolean isInternal();

    /** Whether it is recorded how threads come to places. */
    @Hidden
    static native boolean stacks();

    /** Tells how the calling thread, which has this number, came to a place. */
    @Hidden
    static native void stack(long thread, int site);

    /** So many bytes of zeros for {@link UnsnarlOwners}; 0 if what owners do is recorded. */
    @Hidden
    static native long owners(long bytes);

    /**
     * A cell of {@link UnsnarlSites} without the offset, for one site or for so many after the number of a probe; 0
     * if the field is of a class that is not there yet.
     */
    @Hidden
    static native long site(int site, int count);

    /** The class that declares the field that is accessed at a site whose cell is known. */
    @Hidden
    static native String declaringClass(int site);

    /** Whether a class has a field for ids that is safe to use. */
    @Hidden
    static native boolean hasId(String className);
}
