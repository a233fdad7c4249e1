import java.io.InputStream;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/** The heap and the stack at their limits, and what goes when nobody needs it. Run with a small heap. */
public class Memory {
    static final Cleaner cleaner = Cleaner.create();
    static final AtomicInteger cleaned = new AtomicInteger();
    static final CountDownLatch finalized = new CountDownLatch(1);
    static int depth;

    static class Finalized {
        int number = 1;

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            number++;
            finalized.countDown();
        }
    }

    /** Loads its own copy of a class. */
    static class Own extends ClassLoader {
        Class<?> define(String name) throws Exception {
            try (InputStream file = Memory.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    public static class Loaded implements Runnable {
        static int runs;
        int own;
        volatile int shared;

        @Override
        public synchronized void run() {
            runs++;
            own += runs;
            shared = own;
            int[] numbers = {1, 2, 3};
            numbers[0] += shared;
            Runnable inner = () -> own++;
            inner.run();
            java.util.concurrent.ConcurrentHashMap<Object, Object> map = new java.util.concurrent.ConcurrentHashMap<>();
            map.put(this, numbers);
            System.out.println("loaded runs " + own + map.size());
        }
    }

    public static void main(String[] arguments) throws Exception {
        references();
        unloading();
        fullHeap();
        fullStack();
        references();
        System.out.println("survived");
    }

    static void references() throws Exception {
        WeakReference<Object> weak = new WeakReference<>(used(new Object()));
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        PhantomReference<Object> phantom = new PhantomReference<>(used(new int[10]), queue);
        WeakHashMap<Object, String> map = new WeakHashMap<>();
        map.put(used(new ArrayList<>()), "value");
        int before = cleaned.get();
        cleaner.register(used(new Object()), cleaned::incrementAndGet);
        used(new Finalized());
        until(() -> weak.get() == null);
        until(() -> queue.poll() == phantom);
        until(map::isEmpty);
        until(() -> cleaned.get() > before);
        finalized.await();
        System.out.println("references are cleared");
    }

    /** The object has been seen by hooks. */
    static Object used(Object object) {
        synchronized (object) {
            if (object instanceof int[] numbers) {
                numbers[3]++;
            }
            if (object instanceof Finalized it) {
                it.number++;
            }
        }
        return object;
    }

    interface Condition {
        boolean holds();
    }

    static void until(Condition condition) throws InterruptedException {
        for (int i = 0; i < 500; i++) {
            if (condition.holds()) {
                return;
            }
            System.gc();
            Thread.sleep(10);
        }
        throw new IllegalStateException("still there");
    }

    static void unloading() throws Exception {
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            loaders.add(new WeakReference<>(loads()));
        }
        for (WeakReference<ClassLoader> loader : loaders) {
            until(() -> loader.get() == null);
        }
        System.out.println("loaders are gone");
    }

    static ClassLoader loads() throws Exception {
        Own loader = new Own();
        Class<?> type = loader.define("Memory$Loaded");
        Runnable loaded = (Runnable) type.getDeclaredConstructor().newInstance();
        loaded.run();
        Thread thread = new Thread(loaded);
        thread.start();
        thread.join();
        synchronized (type) {
            return loader;
        }
    }

    static class Node {
        Node next;
        Object[] ballast = new Object[5000];
    }

    static void fullHeap() {
        ReentrantLock lock = new ReentrantLock();
        Object monitor = new Object();
        for (int round = 0; round < 3; round++) {
            Node first = null;
            lock.lock();
            try {
                synchronized (monitor) {
                    while (true) {
                        Node node = new Node();
                        node.next = first;
                        synchronized (node) {
                            node.ballast[1] = node;
                        }
                        first = node;
                    }
                }
            } catch (OutOfMemoryError e) {
                first = null;
                System.out.println("full " + e.getMessage());
            } finally {
                lock.unlock();
            }
            System.out.println(lock.isHeldByCurrentThread() + " " + Thread.holdsLock(monitor));
        }
        try {
            long[] huge = new long[Integer.MAX_VALUE];
            System.out.println(huge.length);
        } catch (OutOfMemoryError e) {
            System.out.println(e.getMessage());
        }
    }

    static void fullStack() throws Exception {
        Object monitor = new Object();
        ReentrantLock lock = new ReentrantLock();
        for (int round = 0; round < 20; round++) {
            try {
                deeper(monitor);
            } catch (StackOverflowError e) {
                for (StackTraceElement element : e.getStackTrace()) {
                    if (element.toString().contains("nsnarl")) {
                        System.out.println(element);
                    }
                }
            }
            if (Thread.holdsLock(monitor) || depth < 100) {
                System.out.println("held after " + depth);
            }
            depth = 0;
        }
        Thread other = new Thread(() -> {
            synchronized (monitor) {
                System.out.println("the monitor is free");
            }
        });
        other.start();
        other.join();
        System.out.println(lock.isLocked());
    }

    static int deeper(Object monitor) {
        depth++;
        synchronized (monitor) {
            return deeper(monitor) + 1;
        }
    }
}
