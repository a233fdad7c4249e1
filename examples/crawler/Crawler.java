package crawler;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A pool of workers that visits pages and counts them.
 *
 * <p>The map of pages and the number of failures are made for sharing. {@code visited} is a plain
 * field that every worker increments: some visits are not counted. An AtomicInteger repairs it.
 */
public final class Crawler {
    private final Map<String, Integer> sizes = new ConcurrentHashMap<>();
    private final AtomicInteger failures = new AtomicInteger();
    private int visited;

    public static void main(String[] arguments) throws InterruptedException {
        Crawler crawler = new Crawler();
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int number = 0; number < 100; number++) {
            String page = "page" + number;
            pool.submit(() -> crawler.visit(page));
        }
        pool.shutdown();
        if (pool.awaitTermination(10, TimeUnit.SECONDS)) {
            System.out.println(crawler);
        }
    }

    private void visit(String page) {
        if (page.endsWith("13")) {
            failures.incrementAndGet();
            return;
        }
        sizes.put(page, page.length());
        visited++;
    }

    @Override
    public String toString() {
        return visited + " visited, " + sizes.size() + " stored, " + failures + " failed";
    }
}
