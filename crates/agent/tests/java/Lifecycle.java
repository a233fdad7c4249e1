import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Threads from their start to their end, and the end of the program in the middle of them. */
public class Lifecycle {
    static final Object monitor = new Object();
    static final ThreadLocal<int[]> local = ThreadLocal.withInitial(() -> new int[] {7});
    static final InheritableThreadLocal<String> inherited = new InheritableThreadLocal<>() {
        @Override
        protected String childValue(String parent) {
            return parent + " child";
        }
    };

    interface Step {
        Object run() throws Exception;
    }

    static void step(String name, Step step) {
        try {
            System.out.println(name + " " + step.run());
        } catch (Exception e) {
            System.out.println(name + " failed: " + e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        timeouts();
        interrupts();
        locals();
        handlers();
        states();
        ends();
    }

    static void timeouts() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            lock.lock();
            held.countDown();
            try {
                done.await();
            } catch (InterruptedException e) {
                System.out.println("never");
            }
            lock.unlock();
        }, "holder");
        holder.start();
        held.await();
        long begin = System.nanoTime();
        step("wait", () -> {
            synchronized (monitor) {
                monitor.wait(10);
                monitor.wait(10, 500);
                return Thread.holdsLock(monitor);
            }
        });
        step("join", () -> {
            holder.join(10);
            holder.join(10, 10);
            return holder.isAlive();
        });
        step("tryLock", () -> lock.tryLock(10, TimeUnit.MILLISECONDS) + " " + lock.tryLock());
        step("poll", () -> new LinkedBlockingQueue<String>().poll(10, TimeUnit.MILLISECONDS));
        step("offer", () -> new SynchronousQueue<String>().offer("x", 10, TimeUnit.MILLISECONDS));
        step("semaphore", () -> new Semaphore(0).tryAcquire(10, TimeUnit.MILLISECONDS));
        step("latch", () -> new CountDownLatch(1).await(10, TimeUnit.MILLISECONDS));
        step("barrier", () -> new CyclicBarrier(2).await(10, TimeUnit.MILLISECONDS));
        step("future", () -> new java.util.concurrent.CompletableFuture<String>().get(10, TimeUnit.MILLISECONDS));
        step("sleep", () -> {
            Thread.sleep(10);
            TimeUnit.MILLISECONDS.sleep(10);
            LockSupport.parkNanos(1000);
            return "well";
        });
        System.out.println("took long enough " + (System.nanoTime() - begin > 100_000_000));
        done.countDown();
        holder.join();
        lock.lock();
        step("condition", () -> condition.await(10, TimeUnit.MILLISECONDS) + " " + lock.getHoldCount());
        lock.unlock();
    }

    static void interrupts() throws Exception {
        List<Step> blocking = List.of(
            () -> {
                synchronized (monitor) {
                    monitor.wait();
                    return "never";
                }
            },
            () -> {
                Thread.sleep(60_000);
                return "never";
            },
            () -> new LinkedBlockingQueue<String>().take(),
            () -> new CountDownLatch(1).await(60, TimeUnit.SECONDS),
            () -> {
                new Semaphore(0).acquire();
                return "never";
            },
            () -> {
                Thread.currentThread().join();
                return "never";
            },
            () -> {
                LockSupport.park();
                return "parked, interrupted " + Thread.interrupted();
            },
            () -> new CyclicBarrier(2).await());
        for (Step step : blocking) {
            Thread thread = new Thread(() -> {
                step("blocked", step);
                System.out.println(Thread.currentThread().isInterrupted() + " " + Thread.holdsLock(monitor));
            });
            thread.start();
            while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            thread.interrupt();
            thread.join();
        }
        Thread.currentThread().interrupt();
        step("interrupted before", () -> {
            new Thread(() -> {}).join(1);
            Thread.sleep(1);
            return "never";
        });
        System.out.println(Thread.interrupted());
    }

    static void locals() throws Exception {
        inherited.set("main");
        local.get()[0]++;
        Thread thread = new Thread(() -> System.out.println(local.get()[0] + " " + inherited.get()));
        thread.start();
        thread.join();
        System.out.println(local.get()[0] + " " + inherited.get());
        local.remove();
        System.out.println(local.get()[0]);
    }

    static void handlers() throws Exception {
        Thread own = new Thread(() -> { throw new IllegalStateException("own handler"); }, "own");
        own.setUncaughtExceptionHandler((thread, thrown) -> {
            System.out.println(thread.getName() + " " + thrown + " " + Arrays.toString(thrown.getStackTrace())
                + thread.isAlive());
            throw new RuntimeException("a handler that fails");
        });
        own.start();
        own.join();
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) ->
            System.out.println("default " + thread.getName() + " " + thrown));
        Thread other = new Thread(() -> { throw new Error("default handler"); }, "other");
        other.start();
        other.join();
        Thread.setDefaultUncaughtExceptionHandler(null);
        ThreadGroup group = new ThreadGroup("group") {
            @Override
            public void uncaughtException(Thread thread, Throwable thrown) {
                System.out.println("group " + thread.getName() + " " + thrown);
            }
        };
        Thread grouped = new Thread(group, () -> { throw new RuntimeException("of a group"); }, "grouped");
        grouped.start();
        grouped.join();
        System.out.println(group.activeCount());
        Thread printed = new Thread(() -> { throw new RuntimeException("printed by the JVM"); }, "printed");
        printed.start();
        printed.join();
    }

    static void states() throws Exception {
        CountDownLatch in = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            synchronized (monitor) {
                in.countDown();
                try {
                    monitor.wait();
                } catch (InterruptedException e) {
                    System.out.println("never");
                }
            }
        }, "waiting");
        System.out.println(thread.getState() + " " + thread + thread.getPriority() + thread.isDaemon());
        thread.start();
        in.await();
        synchronized (monitor) {
            System.out.println(thread.getState());
            print(thread.getStackTrace());
            Map<Thread, StackTraceElement[]> all = Thread.getAllStackTraces();
            print(all.get(thread));
            print(all.get(Thread.currentThread()));
            monitor.notify();
            System.out.println(all.keySet().stream().map(Thread::getName)
                .filter(name -> name.equals("main") || name.equals("waiting") || name.contains("nsnarl")).sorted().toList());
        }
        thread.join();
        System.out.println(thread.getState() + " " + thread.isAlive() + thread.getStackTrace().length);
        Thread[] mine = new Thread[20];
        System.out.println(Thread.enumerate(mine) + " " + Thread.activeCount() + mine[0].getName());
    }

    static void print(StackTraceElement[] trace) {
        for (StackTraceElement element : trace) {
            // The addresses in the names of lambda classes differ from run to run.
            System.out.println("  " + element.toString().replaceAll("\\$\\$Lambda[^.]*", "Lambda"));
        }
    }

    static void ends() throws Exception {
        Thread daemon = new Thread(() -> {
            while (true) {
                synchronized (local) {
                    local.get()[0]++;
                }
            }
        }, "daemon");
        daemon.setDaemon(true);
        daemon.start();
        ExecutorService pool = Executors.newCachedThreadPool();
        pool.execute(() -> {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                System.out.println("never");
            }
        });
        Object atExit = new Object();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            synchronized (atExit) {
                System.out.println("shutdown hook " + local.get()[0] + " " + inherited.get());
            }
        }));
        Thread exits = new Thread(() -> System.exit(9), "exits");
        exits.start();
        exits.join();
        System.out.println("never");
    }
}
