import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntSupplier;

/** Things that a program could see of an agent, if the agent let it. */
public class Behaviour implements Serializable, Cloneable {
    private int number = 1;
    private long wide = 2;
    protected double real = 0.5;
    transient byte[] bytes = {1, 2, 3};
    boolean[] flags = {true, false};
    final String text;
    static int shared;

    record Point(int x, int y) {}

    interface Named {
        String NAME = String.valueOf("a constant");

        default String name() {
            return NAME;
        }
    }

    class Inner implements Named {
        final int captured = number;

        int both() {
            return captured + number;
        }
    }

    Behaviour(String text) {
        this.text = text;
    }

    Behaviour(boolean flag) {
        this(flag ? new String("yes") : new StringBuilder("no").toString());
    }

    synchronized void fails() {
        throw new IllegalStateException("failed in a synchronized method");
    }

    static void print(Throwable thrown) {
        System.out.println(thrown);
        for (StackTraceElement element : thrown.getStackTrace()) {
            System.out.println("  " + element);
        }
    }

    static int depth(int depth) {
        shared = depth;
        return depth == 0 ? 0 : 1 + depth(depth - 1);
    }

    public static void main(String[] arguments) throws Exception {
        Behaviour it = new Behaviour(true);
        Inner inner = it.new Inner();
        System.out.println(it.text + new Behaviour(false).text + inner.both() + inner.name());
        System.out.println(ObjectStreamClass.lookup(Behaviour.class).getSerialVersionUID());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        new ObjectOutputStream(out).writeObject(it);
        System.out.println(out.size());
        for (Field field : Behaviour.class.getDeclaredFields()) {
            System.out.println(field);
        }
        System.out.println(((Behaviour) it.clone()).number + " " + new Point(1, 2));

        List<Runnable> failing = new ArrayList<>();
        failing.add(it::fails);
        failing.add(() -> System.out.println(((Behaviour) null).number));
        failing.add(() -> ((Behaviour) null).wide = 5);
        failing.add(() -> it.bytes[3] = 1);
        failing.add(() -> it.bytes[-1]++);
        failing.add(() -> ((Object[]) new String[1])[0] = 1);
        failing.add(() -> {
            Object lock = null;
            synchronized (lock) {
                System.out.println("never");
            }
        });
        failing.add(() -> {
            try {
                it.wait();
            } catch (InterruptedException e) {
                System.out.println("never");
            }
        });
        failing.add(() -> {
            synchronized (it) {
                Thread.currentThread().interrupt();
                try {
                    it.wait(10_000);
                } catch (InterruptedException e) {
                    throw new IllegalStateException("interrupted", e);
                }
            }
        });
        for (Runnable runnable : failing) {
            try {
                runnable.run();
                System.out.println("did not fail");
            } catch (RuntimeException | Error thrown) {
                print(thrown);
                if (thrown.getCause() != null) {
                    print(thrown.getCause());
                }
            }
            System.out.println(Thread.holdsLock(it));
        }

        it.flags[1] |= it.flags[0];
        it.bytes[0] += 200;
        it.real *= 3;
        it.wide <<= 33;
        System.out.println(it.flags[1] + " " + it.bytes[0] + " " + it.real + " " + it.wide);
        System.out.println(depth(500) + shared);
        IntSupplier supplier = () -> it.number + inner.captured;
        System.out.println(supplier.getAsInt());

        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<java.util.concurrent.Future<Integer>> futures = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int n = i;
            futures.add(pool.submit(() -> {
                synchronized (it) {
                    it.number += n;
                    return n * n;
                }
            }));
        }
        int sum = 0;
        for (var future : futures) {
            sum += future.get();
        }
        pool.shutdown();
        System.out.println(sum + " " + it.number);

        try {
            endless(it);
        } catch (StackOverflowError expected) {
            System.out.println("overflow " + Thread.holdsLock(it));
        }
        Thread failingThread = new Thread(it::fails, "failing");
        failingThread.start();
        failingThread.join();
        System.err.println("leaving");
        System.exit(7);
    }

    static int endless(Behaviour it) {
        synchronized (it) {
            it.number++;
            return endless(it) + 1;
        }
    }
}
