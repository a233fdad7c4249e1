package montecarlo;

/** What can print what it does. */
abstract class Traced {
    /** Every object sets it, and always to the same value. */
    private static boolean debug = true;
    private static String prefix = "";

    protected void setDebug(boolean on) {
        debug = on;
    }

    protected static void setPrefix(String text) {
        prefix = text;
    }

    protected void trace(String message, double value) {
        if (debug) {
            System.out.println(prefix + message + value);
        }
    }
}
