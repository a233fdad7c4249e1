package java.lang;

/** What the agent does for the runtime. */
final class UnsnarlNative {
    /** How many bytes of a chunk are its header. */
    static final int CHUNK_HEADER = 24;
    /** What {@link #describe} is about. */
    static final int CLASS = 0;
    static final int THREAD = 1;

    private UnsnarlNative() {}

    /** The address of the first event in a new chunk of a thread; 0 if there is no room. */
    static native long chunk(long thread, long sequence, int size);

    /** Writes the name of a thing to the session. */
    static native void describe(int what, long id, String name);

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
