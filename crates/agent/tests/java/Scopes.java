import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.StructuredTaskScope;
import java.util.concurrent.StructuredTaskScope.FailedException;
import java.util.concurrent.StructuredTaskScope.Joiner;
import java.util.concurrent.StructuredTaskScope.Subtask;
import java.util.concurrent.TimeUnit;

/** Structured concurrency, a preview of JDK 25; the names of the fields say what races. */
public class Scopes extends Turns {
    static class Counting implements Joiner<Integer, Integer> {
        int completedOk;

        @Override
        public boolean onComplete(Subtask<? extends Integer> subtask) {
            synchronized (this) {
                completedOk++;
            }
            return false;
        }

        @Override
        public Integer result() {
            return completedOk;
        }
    }

    static class Box {
        int resultOk;
    }

    int joinedOk;
    int forkedRacy;
    int failedOk;
    int nestedOk;
    int timedOutOk;
    int interruptedOk;
    int afterInterruptRacy;
    int twoRacy;

    void scopes() throws Exception {
        try (var scope = StructuredTaskScope.open()) {
            joinedOk = 1;
            Subtask<Box> subtask = scope.fork(() -> {
                joinedOk++;
                int early = forkedRacy;
                Box box = new Box();
                box.resultOk = 1;
                return box;
            });
            forkedRacy = 1;
            scope.join();
            joinedOk++;
            subtask.get().resultOk++;
        }
        try (var scope = StructuredTaskScope.open()) {
            scope.fork(() -> {
                failedOk = 1;
                throw new IllegalStateException();
            });
            try {
                scope.join();
            } catch (FailedException e) {
                failedOk++;
            }
        }
        try (var scope = StructuredTaskScope.open(Joiner.awaitAll())) {
            scope.fork(() -> twoRacy++);
            scope.fork(() -> twoRacy++);
            scope.join();
        }
        try (var outer = StructuredTaskScope.open()) {
            outer.fork(() -> {
                try (var inner = StructuredTaskScope.open()) {
                    inner.fork(() -> nestedOk = 1);
                    inner.join();
                    nestedOk++;
                }
                return nestedOk;
            });
            outer.join();
            nestedOk++;
        }
        Counting counting = new Counting();
        try (var scope = StructuredTaskScope.open(counting)) {
            scope.fork(() -> 1);
            scope.fork(() -> 2);
            scope.join();
        }
        counting.completedOk++;
        try (var scope = StructuredTaskScope.open(Joiner.awaitAllSuccessfulOrThrow(),
                configuration -> configuration.withTimeout(Duration.ofMillis(50)))) {
            scope.fork(() -> timedOutOk = 1);
            scope.fork(() -> {
                Thread.sleep(20_000);
                return 1;
            });
            try {
                scope.join();
            } catch (StructuredTaskScope.TimeoutException e) {
                timedOutOk++;
            }
        }
    }

    void interrupts() throws Exception {
        ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor();
        CountDownLatch begun = new CountDownLatch(1);
        pool.submit(() -> {
            begun.countDown();
            try {
                Thread.sleep(20_000);
            } catch (InterruptedException e) {
                interruptedOk++;
                hear("stopped");
                afterInterruptRacy++;
            }
        });
        begun.await();
        interruptedOk = 1;
        pool.shutdownNow();
        afterInterruptRacy = 1;
        say("stopped");
        pool.awaitTermination(20, TimeUnit.SECONDS);
    }

    public static void main(String[] arguments) throws Exception {
        Scopes all = new Scopes();
        all.scopes();
        all.interrupts();
        System.out.println("done");
    }
}
