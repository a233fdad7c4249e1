import java.util.concurrent.TimeUnit;

/** Runs the main method of each class that is named, one after another, in one JVM. */
public final class RunAll {
    private RunAll() {}

    public static void main(String[] classes) throws Exception {
        for (String name : classes) {
            try {
                var main = Class.forName(name).getDeclaredMethod("main", String[].class);
                main.setAccessible(true);
                main.invoke(null, (Object) new String[0]);
            } catch (java.lang.reflect.InvocationTargetException e) {
                System.out.println(name + " ends with " + e.getCause());
            }
        }
        // What is still running gets a moment, and then the shutdown hooks their turn.
        TimeUnit.MILLISECONDS.sleep(300);
        System.exit(0);
    }
}
