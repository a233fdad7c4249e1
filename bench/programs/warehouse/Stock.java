package warehouse;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.StampedLock;

/** How many of each item are there. */
final class Stock {
    private final AtomicIntegerArray quantity;
    private final StampedLock lock = new StampedLock();
    /** Guarded by the lock, read optimistically. */
    private long sold;
    private long refilled;

    Stock(int items, int each) {
        quantity = new AtomicIntegerArray(items);
        for (int item = 0; item < items; item++) {
            quantity.set(item, each);
        }
    }

    void take(int item, int count) {
        int left = quantity.addAndGet(item, -count);
        int refill = left < 10 ? 100 : 0;
        if (refill > 0) {
            quantity.addAndGet(item, refill);
        }
        long stamp = lock.writeLock();
        try {
            sold += count;
            refilled += refill;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    int low(int limit) {
        int count = 0;
        for (int item = 0; item < quantity.length(); item++) {
            if (quantity.get(item) < limit) {
                count++;
            }
        }
        return count;
    }

    /** What has gone out less what has come in. */
    long balance() {
        long stamp = lock.tryOptimisticRead();
        long difference = sold - refilled;
        if (!lock.validate(stamp)) {
            stamp = lock.readLock();
            try {
                difference = sold - refilled;
            } finally {
                lock.unlockRead(stamp);
            }
        }
        return difference;
    }

    long total() {
        long sum = 0;
        for (int item = 0; item < quantity.length(); item++) {
            sum += quantity.get(item);
        }
        return sum;
    }
}
