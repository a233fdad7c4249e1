import java.util.ArrayList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionService;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * A racy and a clean use of what runs tasks in other threads; the names of the fields say which. Where two
 * tasks have to run at the same time they meet by way of system properties, which order nothing that is
 * recorded.
 */
public class Tasks {
    int submitOk;
    int submitRacy;
    int handedOk;
    int twoRacy;
    int singleOk;
    int allOk;
    int allRacy;
    int anyOk;
    int terminationOk;
    int terminationRacy;
    int futureOk;
    int executedOk;
    int serviceOk;
    int stageOk;
    int stageRacy;
    int bothOk;
    int allOfOk;
    int completeOk;
    int completeRacy;
    int composedOk;
    int failedOk;
    int adderOk;
    int adderRacy;
    int timerOk;
    int timerRacy;
    int delayedOk;
    int periodicOk;
    int streamOk;
    int lateOk;
    int sequentialOk;
    int streamRacy;
    int mappedOk;
    int capturedOk;
    int referenceOk;

    static void meet(String own, String other) {
        System.setProperty(own, "there");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (System.getProperty(other) == null) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("nobody came: " + other);
            }
            Thread.onSpinWait();
        }
    }

    void executors() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        handedOk = 1;
        Future<?> future = pool.submit(() -> {
            submitOk = handedOk;
            submitRacy = 1;
        });
        int early = submitRacy;
        future.get();
        int late = submitOk;
        Future<Integer> number = pool.submit(new Callable<Integer>() {
            int capturedOk = late;

            @Override
            public Integer call() {
                return ++capturedOk;
            }
        });
        while (!number.isDone()) {
            Thread.onSpinWait();
        }
        capturedOk = number.get();
        Future<?> one = pool.submit(() -> {
            meet("two.a", "two.b");
            twoRacy++;
        });
        Future<?> two = pool.submit(() -> {
            meet("two.b", "two.a");
            twoRacy++;
        });
        one.get();
        two.get();
        referenceOk = 1;
        pool.submit(this::increment).get();
        int seen = referenceOk;
        FutureTask<Integer> task = new FutureTask<>(() -> ++executedOk);
        pool.execute(task);
        task.get();
        executedOk++;
        CompletionService<Integer> service = new ExecutorCompletionService<>(pool);
        service.submit(() -> ++serviceOk);
        service.take().get();
        serviceOk++;
        pool.execute(() -> {
            terminationOk = 1;
            terminationRacy = 1;
        });
        pool.shutdown();
        int running = terminationRacy;
        if (!pool.awaitTermination(1, TimeUnit.MINUTES)) {
            throw new AssertionError();
        }
        int ended = terminationOk;
    }

    private void increment() {
        referenceOk++;
    }

    void more() throws Exception {
        ExecutorService single = Executors.newSingleThreadExecutor();
        single.execute(() -> singleOk++);
        single.execute(() -> singleOk++);
        single.shutdown();
        while (!single.isTerminated()) {
            Thread.onSpinWait();
        }
        singleOk++;
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Callable<Integer>> tasks = new ArrayList<>();
        tasks.add(() -> {
            meet("all.a", "all.b");
            return ++allRacy;
        });
        tasks.add(() -> {
            meet("all.b", "all.a");
            return ++allRacy;
        });
        allOk = 1;
        tasks.add(() -> ++allOk);
        for (Future<Integer> future : pool.invokeAll(tasks)) {
            future.get();
        }
        allOk++;
        anyOk = pool.invokeAny(List.of(() -> ++anyOk));
        pool.shutdown();
        FutureTask<Integer> future = new FutureTask<>(() -> ++futureOk);
        Thread thread = new Thread(future);
        thread.start();
        future.get();
        futureOk++;
        thread.join();
    }

    void stages() throws Exception {
        stageOk = 1;
        CompletableFuture<Integer> stage = CompletableFuture.supplyAsync(() -> {
            meet("stage.a", "stage.b");
            stageRacy = 1;
            return ++stageOk;
        }).thenApply(n -> n + ++stageOk).thenApplyAsync(n -> n + ++stageOk);
        meet("stage.b", "stage.a");
        int early = stageRacy;
        stage.join();
        stageOk++;
        CompletableFuture<Integer> left = CompletableFuture.supplyAsync(() -> ++bothOk);
        CompletableFuture<Void> right = left.thenAcceptAsync(n -> bothOk += n);
        left.thenCombineAsync(right, (n, nothing) -> bothOk += n).get();
        bothOk++;
        int[] parts = new int[2];
        CompletableFuture<Void> first = CompletableFuture.runAsync(() -> parts[0] = ++allOfOk);
        CompletableFuture.allOf(first, CompletableFuture.runAsync(() -> parts[1] = 1)).join();
        int sum = parts[0] + parts[1] + allOfOk;
        CompletableFuture<String> open = new CompletableFuture<>();
        Thread completes = new Thread(() -> {
            completeOk = 1;
            open.complete("done");
            completeRacy = 1;
        });
        completes.start();
        open.get();
        int seen = completeOk + completeRacy;
        completes.join();
        CompletableFuture.supplyAsync(() -> ++composedOk)
            .thenCompose(n -> CompletableFuture.supplyAsync(() -> composedOk += n))
            .join();
        composedOk++;
        CompletableFuture<Integer> failing = CompletableFuture.supplyAsync(() -> {
            failedOk = 1;
            throw new IllegalStateException();
        });
        try {
            failing.get();
            throw new AssertionError();
        } catch (ExecutionException expected) {
            failedOk++;
        }
    }

    /** Every half adds to its own sum, and the whole to both. */
    class Adder extends RecursiveTask<Integer> {
        final int size;
        int sumOk;

        Adder(int size) {
            this.size = size;
        }

        @Override
        protected Integer compute() {
            if (size > 1) {
                Adder left = new Adder(size / 2);
                Adder right = new Adder(size - size / 2);
                left.fork();
                sumOk = right.compute() + left.join() + left.sumOk;
            } else {
                sumOk = 1;
            }
            return sumOk;
        }
    }

    void forks() throws Exception {
        ForkJoinPool pool = new ForkJoinPool(3);
        Adder adder = new Adder(32);
        pool.invoke(adder);
        adderOk = adder.sumOk;
        pool.submit(new RecursiveAction() {
            @Override
            protected void compute() {
                RecursiveAction a = action("fork.a", "fork.b");
                invokeAll(a, action("fork.b", "fork.a"));
                adderOk++;
            }
        }).get();
        adderOk++;
        pool.shutdown();
    }

    RecursiveAction action(String own, String other) {
        return new RecursiveAction() {
            @Override
            protected void compute() {
                meet(own, other);
                adderRacy++;
            }
        };
    }

    void timers() throws Exception {
        Timer timer = new Timer();
        CountDownLatch latch = new CountDownLatch(2);
        timerOk = 1;
        for (int i = 0; i < 2; i++) {
            timer.schedule(new TimerTask() {
                @Override
                public void run() {
                    timerOk++;
                    timerRacy++;
                    latch.countDown();
                }
            }, 1);
        }
        int early = timerRacy;
        latch.await();
        timerOk++;
        timer.cancel();
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(2);
        pool.schedule(() -> ++delayedOk, 1, TimeUnit.MILLISECONDS).get();
        delayedOk++;
        CountDownLatch rounds = new CountDownLatch(5);
        ScheduledFuture<?> periodic = pool.scheduleAtFixedRate(() -> {
            periodicOk++;
            rounds.countDown();
        }, 0, 1, TimeUnit.MILLISECONDS);
        rounds.await();
        periodic.cancel(false);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        periodicOk++;
    }

    void streams() {
        streamOk = 1;
        int[] squares = new int[1000];
        IntStream.range(0, 1000).parallel().forEach(i -> squares[i] = i * streamOk);
        streamOk = squares[999];
        IntStream.range(0, 2).parallel().forEach(i -> {
            meet("stream." + i, "stream." + (1 - i));
            streamRacy++;
        });
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            numbers.add(i);
        }
        var mapped = numbers.parallelStream().filter(n -> n % 2 == 0).map(n -> n + mappedOk).limit(400);
        mappedOk = 3;
        mappedOk = mapped.reduce(0, Integer::sum);
        lateOk = 1;
        lateOk = numbers.stream().map(n -> n + lateOk).filter(n -> n != lateOk).parallel().mapToInt(n -> n).sum();
        sequentialOk = 1;
        numbers.parallelStream().map(n -> n + sequentialOk).sequential().forEach(n -> sequentialOk++);
        sequentialOk = 2;
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", "3");
        Tasks it = new Tasks();
        it.executors();
        it.more();
        it.stages();
        it.forks();
        it.timers();
        it.streams();
        System.out.println("done " + it.submitOk + it.capturedOk + it.stageOk + it.adderOk + it.streamOk);
    }
}
