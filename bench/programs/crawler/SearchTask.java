package crawler;

import java.util.List;

/** A query to one archive. */
final class SearchTask extends Task {
    private final Archive archive;
    private final Query query;
    private final ResultSet results;
    private int hits;

    SearchTask(Archive archive, Query query, ResultSet results) {
        this.archive = archive;
        this.query = query;
        this.results = results;
    }

    @Override
    protected void runImpl() throws InterruptedException {
        int page = 0;
        List<Hit> found = archive.fetch(query, page);
        while (!found.isEmpty() && !isCancelled()) {
            for (Hit hit : found) {
                results.add(hit);
                hits++;
            }
            page++;
            found = archive.fetch(query, page);
        }
        results.complete(archive.name());
    }

    @Override
    synchronized void cancel() {
        markCancelled();
        if (thread != null) {
            thread.interrupt();
        }
    }

    /** After the end of the task. */
    int hits() {
        return hits;
    }

    String archiveName() {
        return archive.name();
    }
}
