import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Two threads use a list and a map, with a lock around it if one is put where the comment is. */
public class Shared {
    static final List<Integer> LIST = new ArrayList<>();
    static final Map<String, Integer> MAP = new HashMap<>();

    static void use(int number) {
        /* lock */ {
            LIST.add(number);
            MAP.put("key" + number, number);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread worker = new Thread(() -> use(1), "worker");
        worker.start();
        // One after the other, so that nothing breaks; to count threads orders nothing that is recorded.
        while (Thread.activeCount() > 1) {
            Thread.onSpinWait();
        }
        use(2);
        worker.join();
    }
}
