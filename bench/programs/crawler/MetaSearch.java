package crawler;

import java.util.ArrayList;
import java.util.List;

/** One query to all archives at once, with a limit of time for each. */
final class MetaSearch {
    private final WorkerPool pool;
    private final Archive[] archives;
    private final Query query;
    private final ResultSet results = new ResultSet();
    private final List<SearchTask> tasks = new ArrayList<>();
    private int timeouts;

    MetaSearch(WorkerPool pool, Archive[] archives, Query query) {
        this.pool = pool;
        this.archives = archives;
        this.query = query;
    }

    ResultSet search(long millis) throws InterruptedException {
        for (Archive archive : archives) {
            SearchTask task = new SearchTask(archive, query, results);
            tasks.add(task);
            pool.execute(task);
        }
        for (SearchTask task : tasks) {
            if (!task.awaitEnd(millis)) {
                task.cancel();
                timeouts++;
            }
        }
        results.close();
        return results;
    }

    int timeouts() {
        return timeouts;
    }

    /** Those archives that said all must have said exactly what they have. */
    boolean isRight() {
        for (Archive archive : archives) {
            if (results.isComplete(archive.name())
                    && results.countOf(archive.name()) != archive.expected(query)) {
                return false;
            }
        }
        return true;
    }
}
