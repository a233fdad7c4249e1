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
        untilOthersWait();
        // The shutdown hooks have their turn.
        System.exit(0);
    }

    /** Until no other thread runs, which some may do forever: not longer than some seconds. */
    private static void untilOthersWait() throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        while (Thread.getAllStackTraces().keySet().stream().anyMatch(RunAll::isRunning) && System.nanoTime() < end) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }

    private static boolean isRunning(Thread thread) {
        ThreadGroup group = thread.getThreadGroup();
        boolean isOfTheJvm = group == null || group.getName().equals("system");
        Thread.State state = thread.getState();
        boolean waits = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
        return thread != Thread.currentThread() && !isOfTheJvm && !waits;
    }
}
