package webserver;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/** Counts of the whole server. */
final class Statistics {
    private final LongAdder requests = new LongAdder();
    private final LongAdder errors = new LongAdder();
    private final AtomicInteger open = new AtomicInteger();
    private final ReentrantLock lock = new ReentrantLock();
    /** Guarded by the lock: how many requests took up to 2^n microseconds. */
    private final int[] histogram = new int[24];
    private long totalMicros;
    private long bytes;
    /** Wrong: test and update are not one step, and there is no lock at all. */
    private int peak;

    void connected() {
        int now = open.incrementAndGet();
        if (now > peak) {
            peak = now;
        }
    }

    void disconnected() {
        open.decrementAndGet();
    }

    void served(int status, long micros, int length) {
        requests.increment();
        if (status >= 400) {
            errors.increment();
        }
        int bucket = Math.min(23, 64 - Long.numberOfLeadingZeros(micros));
        lock.lock();
        try {
            histogram[bucket]++;
            totalMicros += micros;
            bytes += length;
        } finally {
            lock.unlock();
        }
    }

    long requests() {
        return requests.sum();
    }

    long errors() {
        return errors.sum();
    }

    int peak() {
        return peak;
    }

    /** For the administrator; the average is of one moment. */
    String summary() {
        long count = 0;
        long micros;
        long sent;
        if (!lock.tryLock()) {
            return "busy";
        }
        try {
            for (int bucket : histogram) {
                count += bucket;
            }
            micros = totalMicros;
            sent = bytes;
        } finally {
            lock.unlock();
        }
        return count + " requests, " + micros / Math.max(1, count) + " us, " + sent + " bytes";
    }

    long bytes() {
        lock.lock();
        try {
            return bytes;
        } finally {
            lock.unlock();
        }
    }
}
