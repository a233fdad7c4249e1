package crawler;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** What all principals did together. */
final class Statistics {
    private final AtomicInteger searches = new AtomicInteger();
    private final AtomicInteger timeouts = new AtomicInteger();
    private final Map<String, Integer> popular = new HashMap<>();
    private long hits;

    void record(Query query, ResultSet results, int timedOut) {
        searches.incrementAndGet();
        timeouts.addAndGet(timedOut);
        synchronized (popular) {
            popular.merge(query.key(), 1, Integer::sum);
            hits += results.size();
        }
    }

    int searches() {
        return searches.get();
    }

    int timeouts() {
        return timeouts.get();
    }

    long hits() {
        synchronized (popular) {
            return hits;
        }
    }

    int distinct() {
        synchronized (popular) {
            return popular.size();
        }
    }
}
