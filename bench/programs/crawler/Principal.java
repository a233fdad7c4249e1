package crawler;

import java.util.Random;

/** A user: asks one query after the other. */
final class Principal extends Thread {
    private final WorkerPool pool;
    private final Archive[] archives;
    private final Statistics statistics;
    private final int queries;
    private final long millis;
    private final Random random;
    private boolean right = true;

    Principal(int id, WorkerPool pool, Archive[] archives, Statistics statistics, int queries, long millis) {
        super("principal-" + id);
        this.pool = pool;
        this.archives = archives;
        this.statistics = statistics;
        this.queries = queries;
        this.millis = millis;
        this.random = new Random(1000L + id);
    }

    @Override
    public void run() {
        try {
            for (int id = 0; id < queries; id++) {
                Query query = Query.random(id, random);
                MetaSearch search = new MetaSearch(pool, archives, query);
                ResultSet results = search.search(millis);
                right &= search.isRight();
                statistics.record(query, results, search.timeouts());
            }
        } catch (InterruptedException stop) {
            right = false;
        }
    }

    /** After the end of this thread. */
    boolean isRight() {
        return right;
    }
}
