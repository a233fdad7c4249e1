package crawler;

import java.util.Arrays;
import java.util.Random;

/** Words that somebody looks for. */
final class Query {
    private static final String[] WORDS = {
        "corona", "flare", "hard", "limb", "mass", "quiet", "radio", "spot", "wind", "x-ray"
    };

    private final int id;
    private final String[] words;
    /** Made when first asked for. */
    private String key;

    Query(int id, String... words) {
        this.id = id;
        this.words = words.clone();
        Arrays.sort(this.words);
    }

    static Query random(int id, Random random) {
        String first = WORDS[random.nextInt(WORDS.length)];
        String second = WORDS[random.nextInt(WORDS.length)];
        return new Query(id, first, second);
    }

    int id() {
        return id;
    }

    boolean matches(String title) {
        for (String word : words) {
            if (title.contains(word)) {
                return true;
            }
        }
        return false;
    }

    /** Two threads may make it at once: both make the same string. */
    String key() {
        if (key == null) {
            key = String.join("+", words);
        }
        return key;
    }

    static String[] words() {
        return WORDS;
    }
}
