package java.lang;

/** The hooks of the runtime for exact recordings, doing nothing. */
public class UnsnarlExact {
    public static void readBegins(Object object, int site) {}
    public static void writeBegins(Object object, int site) {}
    public static void staticReadBegins(int site) {}
    public static void staticWriteBegins(int site) {}
    public static void elementReadBegins(Object array, int index, int site) {}
    public static void elementWriteBegins(Object array, int index, int site) {}
    public static void copied(Object array, int site) {}
    public static void ends() {}
}
