package warehouse;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/** All warehouses together and what they have in common. */
final class Company {
    private final List<Site> sites = new ArrayList<>();
    private final AtomicLong numbers = new AtomicLong();
    private final ConcurrentMap<String, LongAdder> counts = new ConcurrentHashMap<>();
    private final AtomicReference<Summary> lastReport = new AtomicReference<>(new Summary(0, 0, 0));
    private final CountDownLatch opening = new CountDownLatch(1);
    private String motto;
    /** Wrong: drivers look at it in a loop, and it is not volatile. */
    private boolean closing;

    Company(int siteCount, int districtCount) {
        for (int id = 0; id < siteCount; id++) {
            sites.add(new Site(id, districtCount));
        }
    }

    List<Site> sites() {
        return sites;
    }

    long nextNumber() {
        return numbers.incrementAndGet();
    }

    long lastNumber() {
        return numbers.get();
    }

    void count(String transaction) {
        counts.computeIfAbsent(transaction, key -> new LongAdder()).increment();
    }

    long counted() {
        return counts.values().stream().mapToLong(LongAdder::sum).sum();
    }

    /** What is set before the opening is seen by all who have waited for it. */
    void open(String words) {
        motto = words;
        opening.countDown();
    }

    String awaitOpening() throws InterruptedException {
        opening.await();
        return motto;
    }

    void close() {
        closing = true;
    }

    boolean isClosing() {
        return closing;
    }

    void report(Summary summary) {
        lastReport.accumulateAndGet(summary, (old, given) -> old.orders() > given.orders() ? old : given);
    }

    Summary lastReport() {
        return lastReport.get();
    }
}
