import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;

/** A program that looks at threads, with an agent of its own that has a class of the runtime's name loaded already. */
public class Unstarted {
    int number;

    public static void main(String[] arguments) throws InterruptedException {
        for (Class<?> type : new Class<?>[] {Thread.class, Unstarted.class}) {
            for (Field field : type.getDeclaredFields()) {
                System.out.println(field);
            }
        }
        Thread thread = new Thread(() -> System.out.println("ran"));
        thread.start();
        thread.join();
    }

    static class Agent {
        public static void premain(String arguments, Instrumentation instrumentation) throws ReflectiveOperationException {
            Class.forName("java.lang.UnsnarlEntry");
        }
    }
}
