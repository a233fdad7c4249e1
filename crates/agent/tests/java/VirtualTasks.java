import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;

/** A racy and a clean use of executors of virtual threads; the names of the fields say which. */
public class VirtualTasks {
    int submittedOk;
    int submittedRacy;
    int closedOk;
    int closedRacy;
    int twoRacy;
    int manyOk;

    void run() throws Exception {
        submittedOk = 1;
        try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Integer> future = pool.submit(() -> {
                submittedRacy = 1;
                return ++submittedOk;
            });
            int early = submittedRacy;
            future.get();
            submittedOk++;
            pool.execute(() -> {
                closedOk = 1;
                closedRacy = 1;
            });
            closedRacy = 2;
            pool.execute(() -> twoRacy++);
            pool.execute(() -> twoRacy++);
        }
        int ended = closedOk;
        int[] parts = new int[100];
        ThreadFactory factory = Thread.ofVirtual().name("own ", 0).factory();
        try (ExecutorService pool = Executors.newThreadPerTaskExecutor(factory)) {
            for (int i = 0; i < parts.length; i++) {
                int place = i;
                pool.submit(() -> parts[place] = place);
            }
        }
        for (int part : parts) {
            manyOk += part;
        }
    }

    public static void main(String[] arguments) throws Exception {
        VirtualTasks it = new VirtualTasks();
        it.run();
        System.out.println("done " + it.manyOk);
    }
}
