package webserver;

import java.time.Duration;
import java.util.Map;

/** Settings of the server. Immutable: a reload makes a new one. */
record Config(int version, int keepAlive, Duration sessionLife, Map<String, String> texts) {
    Config {
        texts = Map.copyOf(texts);
    }

    static Config initial() {
        return new Config(1, 100, Duration.ofSeconds(30), Map.of("greeting", "Hello", "title", "Test server"));
    }

    String text(String key) {
        return texts.getOrDefault(key, key);
    }
}
