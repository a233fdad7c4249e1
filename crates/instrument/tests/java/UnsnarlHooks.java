package java.lang;

/** The hooks of the runtime, doing nothing: the verifier judges how they are called. */
public class UnsnarlHooks {
    public static void fieldRead(Object object, int site) {}
    public static void fieldWrite(Object object, int site) {}
    public static void fieldReads(Object object, int site, int count) {}
    public static void fieldWrites(Object object, int site, int count) {}
    public static void numberedReadBegins(Object object, int site) {}
    public static void numberedReadEnds(int site) {}
    public static void numberedWrite(Object object, int site) {}
    public static void staticRead(int site) {}
    public static void staticWrite(int site) {}
    public static void numberedStaticRead(int site) {}
    public static void numberedStaticWrite(int site) {}
    public static void monitorEntered(Object object, int site) {}
    public static void monitorLeaves(Object object, int site) {}
    public static void cloned(Object original, Object copy) {}
    public static java.lang.reflect.Field[] visible(java.lang.reflect.Field[] fields) {
        return fields;
    }
    public static void methodEnters(int site) {}
    public static void methodExits(int site) {}
    public static void calls(int site) {}
    public static void allocated(Object object, Object by, int site) {}
    public static void stored(Object container, Object value, int site) {}
    public static void published(Object value, int site) {}
    public static void classInitialized(int site) {}
    public static void threadStarts(Thread thread) {}
    public static void threadEnds(Thread thread) {}
    public static void threadJoined(Thread thread) {}
    public static void waits(Object object, int site) {}
    public static void wakes(Object object, int site) {}
}
