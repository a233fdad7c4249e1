package warehouse;

import java.util.ArrayDeque;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** Somebody who buys and pays. */
final class Customer {
    private final int id;
    private final Lock lock = new ReentrantLock();
    private final ArrayDeque<Order> recent = new ArrayDeque<>();
    private long owed;
    private long paid;

    Customer(int id) {
        this.id = id;
    }

    int id() {
        return id;
    }

    void ordered(Order order) {
        lock.lock();
        try {
            owed += order.cents();
            recent.addLast(order);
            if (recent.size() > 5) {
                recent.removeFirst();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Pays at most so much, and says how much it was. */
    long pay(long most) {
        lock.lock();
        try {
            long amount = Math.min(most, owed);
            owed -= amount;
            paid += amount;
            return amount;
        } finally {
            lock.unlock();
        }
    }

    int undelivered() {
        lock.lock();
        try {
            int count = 0;
            for (Order order : recent) {
                if (!order.isDelivered()) {
                    count++;
                }
            }
            return count;
        } finally {
            lock.unlock();
        }
    }

    long turnover() {
        lock.lock();
        try {
            return owed + paid;
        } finally {
            lock.unlock();
        }
    }
}
