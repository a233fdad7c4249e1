package java.lang;

/** The hooks of the runtime for calls and tasks, doing nothing. */
public class UnsnarlCalls {
    public static int considers(Object receiver, int method, int site) {
        return 0;
    }
    public static void reference(Object argument, int position, int considered) {}
    public static void array(Object argument, int position, int considered) {}
    public static void number(int argument, int position, int considered) {}
    public static void number(long argument, int position, int considered) {}
    public static void text(Object argument, int position, int considered) {}
    public static void elements(Object argument, int position, int considered) {}
    public static void thread(int considered) {}
    public static int begins(Object receiver, int site, int considered) {
        return 0;
    }
    public static int beginsQuietly(Object receiver, int site, int considered) {
        return 0;
    }
    public static int looks(Object receiver, int site, int considered) {
        return 0;
    }
    public static void ends(int call) {}
    public static void ends(int result, int call) {}
    public static void ends(long result, int call) {}
    public static void ends(Object result, int call) {}
    public static void interrupted(Throwable failure, int site) {}
    public static void fails(Throwable failure, int call) {}
    public static void calledOn(Object object, int site) {}
    public static void calledWith(Object object, int site) {}
    public static void taskBegins(Object task, int site) {}
    public static void taskEnds(Object task, int site) {}
    public static void taskEndsQuietly(Object task, int site) {}
    public static void taskReturns(Object result, Object task, int site) {}
    public static byte[] hidden(byte[] bytes) {
        return bytes;
    }
}
