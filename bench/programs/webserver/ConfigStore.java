package webserver;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** The settings in use, read by all threads at any time, replaced as a whole by a reload. */
final class ConfigStore {
    private volatile Config current = Config.initial();
    private final CopyOnWriteArrayList<Consumer<Config>> listeners = new CopyOnWriteArrayList<>();
    /** Guarded by this. */
    private final List<Integer> history = new ArrayList<>();

    Config current() {
        return current;
    }

    void onChange(Consumer<Config> listener) {
        listeners.add(listener);
    }

    void reload() {
        Config next;
        synchronized (this) {
            Config old = current;
            Map<String, String> texts = new HashMap<>(old.texts());
            texts.put("greeting", old.version() % 2 == 0 ? "Hello" : "Welcome");
            next = new Config(old.version() + 1, old.keepAlive(), old.sessionLife(), texts);
            current = next;
            history.add(next.version());
        }
        listeners.forEach(listener -> listener.accept(next));
    }

    synchronized int reloads() {
        return history.size();
    }
}
