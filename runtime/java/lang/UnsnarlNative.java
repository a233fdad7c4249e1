package java.lang;

import jdk.internal.misc.Unsafe;

/** What the agent does for the runtime. */
final class UnsnarlNative {
    /** How many bytes of a chunk are its header. */
    static final int CHUNK_HEADER = 24;
    /** What {@link #describe} is about. */
    static final int CLASS = 0;
    static final int THREAD = 1;
    static final int TEXT = 2;

    private UnsnarlNative() {}

    /** The address of the first event in a new chunk of a thread; 0 if there is no room. */
    static native long chunk(long thread, long sequence, int size);

    /** How many bytes for events a chunk has, which may be more or fewer than were asked for. */
    static int room(long chunk) {
        return Unsafe.getUnsafe().getInt(chunk - CHUNK_HEADER + 4) - CHUNK_HEADER;
    }

    /** The command that starts a JVM with the agent, with zeros between its parts; null for any other. */
    static native String command(String command);

    /** Writes the name of a thing to the session. */
    static native void describe(int what, long id, String name);

    /** Whether calls of a method, by its number, are recorded on objects of a class. */
    static native boolean models(int method, String type);

    /** The bytes of a hidden class with probes; null if it stays as it is. */
    static native byte[] hidden(byte[] bytes);

    /** Which elements of arrays are recorded: the first index in the lower half, the one behind the last above. */
    static native long elements();

    /** Whether what is redundant is left out. */
    static native boolean filters();

    /**
     * A cell of {@link UnsnarlSites} without the offset, for one site or for so many behind the number of a probe; 0
     * if the field is of a class that is not there yet.
     */
    static native long site(int site, int count);

    /** The class that declares the field that is accessed at a site whose cell is known. */
    static native String declaringClass(int site);

    /** Whether a class has a field for ids that is safe to use. */
    static native boolean hasId(String className);
}
