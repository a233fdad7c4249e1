package java.lang;

/** The hooks of the runtime for arrays, doing nothing. */
public class UnsnarlArrays {
    public static void arrayRead(Object array, int index, int site) {}
    public static void arrayWrite(Object array, int index, int site) {}
    public static void copied(Object array, int site) {}
    public static void loopRead(Object array, int start, int now, int reached, int shape, int site) {}
    public static void loopWrite(Object array, int start, int now, int reached, int shape, int site) {}
}
