import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** What is waited for when those have died that did it; the names of the fields say what races. */
public class LongDead extends Turns {
    static int firstStageOk;
    static int stageOk;
    static int futureOk;
    static int oneOk;
    static int otherOk;
    static int taskOk;
    static int latchOk;
    static int stageRacy;
    static int futureRacy;
    static int latchRacy;

    static class Short {
        int used;
    }

    /** Lets the agent learn what is dead, which a program cannot ask for. */
    static void forget() throws Exception {
        for (int round = 0; round < 3; round++) {
            for (int count = 0; count < 20_000; count++) {
                Short made = new Short();
                synchronized (made) {
                    made.used++;
                }
            }
            System.gc();
            Thread.sleep(50);
        }
    }

    static void only(Body body) throws Exception {
        start(body).join();
    }

    public static void main(String[] args) throws Exception {
        // What knows it is made anew, and dies.
        int one = args.length + 1;
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CompletableFuture<Integer> last = CompletableFuture.supplyAsync(() -> {
            hear("set up");
            firstStageOk = one;
            stageRacy = 1;
            return 1;
        }, pool).thenApply(value -> {
            stageOk = value;
            return value;
        }).thenApply(value -> {
            say("stages");
            return value;
        });
        say("set up");
        CompletableFuture<Void> all = CompletableFuture.allOf(
                CompletableFuture.runAsync(() -> oneOk = one, pool),
                CompletableFuture.runAsync(() -> otherOk = one, pool));
        Future<?> future = pool.submit(() -> {
            futureOk = one;
            futureRacy = 1;
            say("future");
        });
        FutureTask<Integer> task = new FutureTask<>(() -> {
            taskOk = one;
            say("task");
            return 1;
        });
        new Thread(task).start();
        CountDownLatch latch = new CountDownLatch(1);
        start(() -> {
            latchOk = one;
            latchRacy = 1;
            latch.countDown();
            say("latch");
        });
        for (String done : new String[] {"stages", "future", "task", "latch"}) {
            hear(done);
        }
        // Those who have said it end; to ask whether they have would order what they did.
        Thread.sleep(50);
        forget();
        only(() -> stageRacy++);
        only(() -> futureRacy++);
        only(() -> latchRacy++);
        only(() -> {
            last.join();
            firstStageOk++;
            stageOk++;
        });
        only(() -> {
            all.join();
            oneOk++;
            otherOk++;
        });
        only(() -> {
            future.get();
            futureOk++;
        });
        only(() -> {
            task.get();
            taskOk++;
        });
        only(() -> {
            latch.await();
            latchOk++;
        });
        pool.shutdown();
    }
}
