package webserver;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** All sessions by name. */
final class SessionTable {
    private final ConcurrentHashMap<String, Session> sessions = new ConcurrentHashMap<>();
    private final AtomicInteger next = new AtomicInteger();
    private final ConfigStore configs;
    private int expired;

    SessionTable(ConfigStore configs) {
        this.configs = configs;
    }

    Session find(String id) {
        long now = System.nanoTime();
        Session session = id.isEmpty() ? null : sessions.get(id);
        if (session == null) {
            String name = "s" + next.incrementAndGet();
            session = sessions.computeIfAbsent(name, key -> new Session(key, now));
        }
        session.touch(now);
        return session;
    }

    /** Removes what nobody has used for long; the reaper's only. */
    void expire() {
        long limit = System.nanoTime() - configs.current().sessionLife().toNanos();
        for (Session session : sessions.values()) {
            if (session.isOlderThan(limit) && sessions.remove(session.id(), session)) {
                expired++;
            }
        }
    }

    int size() {
        return sessions.size();
    }

    int visits() {
        int sum = 0;
        for (Session session : sessions.values()) {
            sum += session.total();
        }
        return sum;
    }

    /** Once the reaper has ended. */
    int expired() {
        return expired;
    }
}
