/** Ends by an exception that nobody catches, and then another. */
public class Uncaught {
    static final int[] EMPTY = {};

    public static void main(String[] arguments) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("shutting down")));
        try {
            EMPTY[0]++;
        } finally {
            System.out.println("finally");
        }
    }
}
