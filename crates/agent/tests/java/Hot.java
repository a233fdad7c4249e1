import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Enters monitors, and calls methods of the library that order, often enough to be compiled. */
public class Hot {
    private int count;
    private final Object lock = new Object();

    private void block() {
        synchronized (lock) {
            count++;
        }
    }

    private int loop(int[] numbers) {
        synchronized (lock) {
            while (numbers[0] > 0) {
                numbers[0]--;
            }
            return numbers[0];
        }
    }

    private synchronized void method() {
        count++;
    }

    private final ReentrantLock own = new ReentrantLock();
    private final Condition condition = own.newCondition();

    /** Calls that may fail, inside of monitors and handlers. */
    private int failing(CompletableFuture<Integer> future) {
        synchronized (lock) {
            own.lock();
            try {
                condition.await(0, TimeUnit.NANOSECONDS);
                return future.get();
            } catch (ExecutionException expected) {
                return -1;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                own.unlock();
            }
        }
    }

    public static void main(String[] arguments) {
        Hot hot = new Hot();
        CompletableFuture<Integer> done = CompletableFuture.completedFuture(1);
        CompletableFuture<Integer> failed = CompletableFuture.failedFuture(new ArithmeticException());
        for (int i = 0; i < 50_000; i++) {
            hot.block();
            hot.method();
            hot.loop(new int[] {3});
            hot.count += hot.failing(i % 100 == 0 ? failed : done);
        }
        System.out.println(hot.count);
    }
}
