package crawler;

import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.TreeSet;

/** The hits of one query from all archives, and which archives have said all. */
final class ResultSet {
    private final TreeSet<Hit> hits = new TreeSet<>();
    private final Set<String> complete = new HashSet<>();
    private boolean closed;
    private int late;

    synchronized void add(Hit hit) {
        if (closed) {
            late++;
        } else {
            hits.add(hit);
        }
    }

    synchronized void complete(String archive) {
        if (!closed) {
            complete.add(archive);
        }
    }

    /** From now on nothing is added. */
    synchronized void close() {
        closed = true;
    }

    synchronized boolean isComplete(String archive) {
        return complete.contains(archive);
    }

    synchronized int size() {
        return hits.size();
    }

    synchronized int countOf(String archive) {
        int count = 0;
        for (Hit hit : hits) {
            if (hit.archive().equals(archive)) {
                count++;
            }
        }
        return count;
    }

    synchronized String best() {
        Iterator<Hit> first = hits.iterator();
        return first.hasNext() ? first.next().title() : "nothing";
    }

    synchronized int late() {
        return late;
    }
}
