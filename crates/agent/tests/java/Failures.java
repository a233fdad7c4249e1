import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.Collectors;

/** Exceptions with their messages and traces: of null, of arrays, inside lambdas and library calls. */
public class Failures {
    int number;
    double real;
    Failures next;
    int[] numbers;
    long[][] table = new long[2][];
    Object[] objects = new String[1];
    volatile Failures shared;
    static Failures nothing;
    Lock lock;
    Map<String, Failures> map;
    ConcurrentHashMap<String, String> concurrent;
    Future<String> future;
    BlockingQueue<String> queue;
    CountDownLatch latch;
    AtomicInteger atomic;
    AtomicReference<String> reference;
    Thread thread;
    ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();

    interface Failing {
        void run() throws Exception;
    }

    static Failures none() {
        return null;
    }

    Lock lock() {
        return lock;
    }

    static void attempt(String name, Failing failing) {
        try {
            failing.run();
            System.out.println(name + " did not fail");
        } catch (Throwable thrown) {
            print(name, thrown);
        }
    }

    static void print(String name, Throwable thrown) {
        System.out.println(masked(name + ": " + thrown));
        for (StackTraceElement element : thrown.getStackTrace()) {
            System.out.println("    " + element);
        }
        if (thrown.getCause() != null) {
            print("  cause", thrown.getCause());
        }
    }

    /** The names of lambda classes and the hashes of objects differ from run to run. */
    static String masked(String text) {
        // A pool has ended before its last thread has left the list.
        return text.replaceAll("\\$\\$Lambda[^ @]*", "Lambda").replaceAll("@[0-9a-f]+", "@")
                .replaceAll("pool size = [01]", "pool size");
    }

    public static void main(String[] arguments) throws Exception {
        Failures it = new Failures();
        ofNull(it);
        ofNullLibrary(it);
        ofArrays(it);
        ofLibraries(it);
        ofTasks();
        walks();
        new IllegalStateException("printed").printStackTrace();
        try {
            throw new IllegalArgumentException("suppressing");
        } catch (IllegalArgumentException e) {
            e.addSuppressed(new RuntimeException("suppressed"));
            e.printStackTrace();
        }
        try (AutoCloseable resource = () -> { throw new IllegalStateException("closing"); }) {
            throw new RuntimeException("in the body");
        } catch (Exception e) {
            print("resource", e);
        }
    }

    static void ofNull(Failures it) {
        attempt("field read", () -> System.out.println(it.next.number));
        attempt("field write", () -> it.next.number = 3);
        attempt("wide write", () -> it.next.real += 3);
        attempt("two fields", () -> System.out.println(it.next.number + it.next.real));
        attempt("static", () -> nothing.number++);
        attempt("returned", () -> none().number++);
        attempt("chain", () -> it.next.next.next.number = it.number);
        attempt("volatile read", () -> System.out.println(it.shared.shared));
        attempt("volatile write", () -> it.shared.shared = it);
        attempt("parameter", () -> parameter(null));
        attempt("local", () -> {
            Failures local = it.next;
            local.next = it;
        });
        attempt("array read", () -> System.out.println(it.numbers[3]));
        attempt("array write", () -> it.numbers[3] = 4);
        attempt("array of arrays", () -> it.table[1][0]++);
        attempt("length", () -> System.out.println(it.numbers.length));
        attempt("monitor", () -> {
            synchronized (it.next) {
                System.out.println("never");
            }
        });
        attempt("wait", () -> it.next.wait());
        attempt("wait local", () -> {
            Object local = it.next;
            local.wait(10);
        });
        attempt("wait returned", () -> none().wait(10, 10));
        attempt("notify", () -> it.next.notify());
        attempt("notifyAll", () -> none().notifyAll());
        attempt("wait without monitor", () -> it.wait(5));
        attempt("wait for less than no time", () -> it.wait(-5));
        attempt("wait for strange nanos", () -> it.wait(5, -1));
        attempt("notify without monitor", it::notify);
        attempt("call", () -> it.next.lock());
        attempt("throw", () -> { throw null; });
        attempt("unboxing", () -> {
            Integer boxed = null;
            int number = boxed;
        });
        attempt("switch", () -> {
            String text = null;
            switch (text) {
                case "a" -> System.out.println("never");
                default -> System.out.println("neither");
            }
        });
        attempt("clone", () -> it.numbers.clone());
        attempt("bound reference", () -> {
            Failing failing = it.next::wait;
        });
    }

    static void parameter(Failures parameter) {
        parameter.number = parameter.number + 1;
    }

    static void ofNullLibrary(Failures it) {
        attempt("lock", () -> it.lock.lock());
        attempt("lock returned", () -> it.lock().unlock());
        attempt("lock local", () -> {
            Lock local = it.lock;
            local.tryLock(10, TimeUnit.MILLISECONDS);
        });
        attempt("map", () -> it.map.computeIfAbsent("key", key -> it));
        attempt("concurrent map", () -> it.concurrent.put("key", "value"));
        attempt("future", () -> it.future.get());
        attempt("future with time", () -> it.future.get(10, TimeUnit.MILLISECONDS));
        attempt("queue", () -> it.queue.put("element"));
        attempt("queue poll", () -> it.queue.poll(10, TimeUnit.MILLISECONDS));
        attempt("latch", () -> it.latch.countDown());
        attempt("atomic", () -> it.atomic.compareAndSet(1, 2));
        attempt("reference", () -> it.reference.set(it.reference.get()));
        attempt("start", () -> it.thread.start());
        attempt("join", () -> it.thread.join(10));
        attempt("interrupt", () -> it.thread.interrupt());
        attempt("null key", () -> new ConcurrentHashMap<String, String>().put(null, "value"));
        attempt("null task", () -> new Thread((Runnable) null, null).start());
        attempt("null function", () -> new HashMap<String, String>().computeIfAbsent("key", null));
        attempt("read lock", () -> ((ReentrantReadWriteLock) (Object) it.readWrite).readLock().unlock());
    }

    static void ofArrays(Failures it) {
        int[] numbers = new int[2];
        attempt("beyond", () -> numbers[2]++);
        attempt("negative", () -> numbers[-1] = numbers[0]);
        attempt("loop", () -> {
            for (int i = 0; i < 5; i++) {
                numbers[i] = i;
            }
        });
        attempt("store", () -> it.objects[0] = 1);
        attempt("size", () -> System.out.println(new int[numbers[0] - 1].length));
        attempt("sizes", () -> System.out.println(new int[3][-2].length));
        attempt("copy", () -> System.arraycopy(numbers, 0, new long[2], 0, 1));
        attempt("copy beyond", () -> System.arraycopy(numbers, 1, numbers, 0, 2));
        attempt("cast", () -> System.out.println(((Integer) it.objects[0]) + ((String) (Object) numbers)));
        attempt("divide", () -> System.out.println(numbers[0] / (numbers[0] - numbers[0])));
        attempt("fill", () -> Arrays.fill(numbers, 1, 5, 3));
        System.out.println(Arrays.toString(numbers));
    }

    static void ofLibraries(Failures it) {
        Map<String, String> map = new HashMap<>();
        ConcurrentHashMap<String, Integer> concurrent = new ConcurrentHashMap<>();
        attempt("computeIfAbsent", () -> map.computeIfAbsent("key", key -> fail(key)));
        attempt("concurrent computeIfAbsent", () -> concurrent.computeIfAbsent("key", key -> fail(key).length()));
        attempt("concurrent compute", () -> concurrent.compute("key", (key, value) -> value + 1));
        attempt("merge", () -> {
            concurrent.merge("one", 1, Integer::sum);
            concurrent.merge("one", 1, (left, right) -> fail("merge").length());
        });
        attempt("forEach", () -> List.of(1, 2).forEach(number -> fail("element " + number)));
        attempt("stream", () -> List.of(3, 1).stream().map(number -> 1 / (number - 1)).collect(Collectors.toList()));
        attempt("sort", () -> new ArrayList<>(List.of(1, 2)).sort((left, right) -> fail("compared").length()));
        attempt("update", () -> new AtomicInteger().updateAndGet(number -> fail("updated").length()));
        attempt("unlock", () -> new ReentrantLock().unlock());
        attempt("unlock read", () -> new ReentrantReadWriteLock().readLock().unlock());
        attempt("await", () -> new ReentrantLock().newCondition().await());
        attempt("signal", () -> new ReentrantLock().newCondition().signal());
        attempt("permits", () -> new Semaphore(1).acquire(-1));
        attempt("started twice", () -> {
            Thread thread = new Thread(() -> {});
            thread.start();
            thread.join();
            thread.start();
        });
        attempt("join time", () -> new Thread(() -> {}).join(-1));
        attempt("concurrent modification", () -> {
            List<Integer> list = new ArrayList<>(List.of(1, 2, 3));
            for (int number : list) {
                list.remove(Integer.valueOf(number));
            }
        });
        attempt("initializer", () -> System.out.println(Broken.number));
        attempt("initializer again", () -> System.out.println(Broken.number));
    }

    static class Broken {
        static int number = fail("initializing").length();
    }

    static String fail(String what) {
        throw new IllegalStateException(what);
    }

    static void ofTasks() throws Exception {
        FutureTask<String> task = new FutureTask<>(() -> fail("task"));
        task.run();
        attempt("task", task::get);
        attempt("completed", () -> CompletableFuture.completedFuture("x").thenApply(Failures::fail).join());
        attempt("failed", () -> CompletableFuture.failedFuture(new RuntimeException("failed")).get());
        ExecutorService pool = Executors.newSingleThreadExecutor(run -> new Thread(run, "pool"));
        attempt("pool", () -> pool.submit(() -> fail("in the pool")).get());
        attempt("all", () -> pool.invokeAny(List.of(() -> fail("any"))));
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        attempt("shut down", () -> pool.submit(() -> "no").get());
    }

    static void walks() {
        StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        Runnable walk = () -> {
            List<String> frames = walker.walk(all -> all.map(StackWalker.StackFrame::toStackTraceElement)
                .map(Object::toString).collect(Collectors.toList()));
            System.out.println(frames);
            System.out.println(masked(walker.getCallerClass().getName()));
            System.out.println(Arrays.toString(Thread.currentThread().getStackTrace()));
        };
        Object monitor = new Object();
        synchronized (monitor) {
            walk.run();
        }
        new ConcurrentHashMap<String, Integer>().computeIfAbsent("key", key -> {
            walk.run();
            return 1;
        });
        StackWalker shows = StackWalker.getInstance(StackWalker.Option.SHOW_REFLECT_FRAMES);
        List<String> methods = shows.walk(all -> all.map(StackWalker.StackFrame::getMethodName).toList());
        System.out.println(methods);
    }
}
