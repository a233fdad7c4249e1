package webserver;

import java.util.HashMap;
import java.util.Map;

/** What the server remembers of a client. */
final class Session {
    private final String id;
    /** Guarded by this. */
    private final Map<String, Integer> visits = new HashMap<>();
    /**
     * When it was used last. Written by workers and read by the reaper without a lock: a session that
     * ends a little early or late does no harm.
     */
    private long lastUsed;

    Session(String id, long now) {
        this.id = id;
        this.lastUsed = now;
    }

    String id() {
        return id;
    }

    synchronized int visit(String path) {
        return visits.merge(path, 1, Integer::sum);
    }

    synchronized int total() {
        int sum = 0;
        for (int count : visits.values()) {
            sum += count;
        }
        return sum;
    }

    void touch(long now) {
        lastUsed = now;
    }

    boolean isOlderThan(long time) {
        return lastUsed - time < 0;
    }
}
