import java.util.ArrayList;
import java.util.List;

/** 200 virtual threads add to a counter under a lock; one more is read too early. */
public class Virtual {
    static int countOk;
    static int earlyRacy;
    static final Object LOCK = new Object();

    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            threads.add(Thread.ofVirtual().name("virtual " + i).start(() -> {
                synchronized (LOCK) {
                    countOk++;
                }
                Thread.yield();
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Thread late = Thread.startVirtualThread(() -> earlyRacy++);
        if (countOk + earlyRacy < 200) {
            throw new AssertionError();
        }
        late.join();
    }
}
