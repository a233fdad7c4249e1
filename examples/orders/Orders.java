package orders;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A producer and two consumers with a bounded buffer between them. It is correct: the lock of the
 * buffer guards all that is in it, and the totals are read after the consumers have ended.
 */
public final class Orders {
    private static final int LAST = -1;

    public static void main(String[] arguments) throws InterruptedException {
        Buffer buffer = new Buffer(8);
        Consumer first = new Consumer(buffer);
        Consumer second = new Consumer(buffer);
        first.start();
        second.start();
        for (int order = 1; order <= 100; order++) {
            buffer.put(order);
        }
        buffer.put(LAST);
        buffer.put(LAST);
        first.join();
        second.join();
        System.out.println("sum of all orders: " + (first.sum + second.sum));
    }

    static final class Consumer extends Thread {
        private final Buffer buffer;
        private long sum;

        Consumer(Buffer buffer) {
            this.buffer = buffer;
        }

        @Override
        public void run() {
            try {
                for (int order = buffer.take(); order != LAST; order = buffer.take()) {
                    sum += order;
                }
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static final class Buffer {
        private final Deque<Integer> waiting = new ArrayDeque<>();
        private final int capacity;

        Buffer(int capacity) {
            this.capacity = capacity;
        }

        synchronized void put(int order) throws InterruptedException {
            while (waiting.size() == capacity) {
                wait();
            }
            waiting.add(order);
            notifyAll();
        }

        synchronized int take() throws InterruptedException {
            while (waiting.isEmpty()) {
                wait();
            }
            int order = waiting.remove();
            notifyAll();
            return order;
        }
    }
}
