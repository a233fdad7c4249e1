package crawler;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A far archive: slow, sometimes very slow, and it remembers what was asked. */
class Archive {
    private static final int PAGE = 8;

    private final String name;
    private final String[] titles;
    private final long millisPerPage;
    /** Pages by query, guarded by itself. */
    private final Map<String, List<Hit>> cache = new HashMap<>();
    /** Counted without a lock, for the statistics at the end: some may get lost. */
    private int requests;

    Archive(String name, int documents, long millisPerPage, long seed) {
        this.name = name;
        this.millisPerPage = millisPerPage;
        Random random = new Random(seed);
        String[] words = Query.words();
        titles = new String[documents];
        for (int document = 0; document < documents; document++) {
            titles[document] = words[random.nextInt(words.length)] + " " + words[random.nextInt(words.length)]
                    + " " + document;
        }
    }

    final String name() {
        return name;
    }

    List<Hit> fetch(Query query, int page) throws InterruptedException {
        requests++;
        List<Hit> all = lookUp(query);
        travel();
        int first = page * PAGE;
        if (first >= all.size()) {
            return List.of();
        }
        return all.subList(first, Math.min(all.size(), first + PAGE));
    }

    protected void travel() throws InterruptedException {
        Thread.sleep(millisPerPage);
    }

    private List<Hit> lookUp(Query query) {
        String key = query.key();
        synchronized (cache) {
            List<Hit> known = cache.get(key);
            if (known != null) {
                return known;
            }
        }
        List<Hit> found = search(query);
        synchronized (cache) {
            cache.put(key, found);
        }
        return found;
    }

    private List<Hit> search(Query query) {
        List<Hit> found = new ArrayList<>();
        for (int document = 0; document < titles.length; document++) {
            if (query.matches(titles[document])) {
                found.add(new Hit(name, document, titles[document], score(titles[document])));
            }
        }
        found.sort(null);
        return found;
    }

    private static int score(String title) {
        return (title.hashCode() >>> 3) % 100;
    }

    /** How many hits a complete search brings: for the self-check. */
    final int expected(Query query) {
        int count = 0;
        for (String title : titles) {
            if (query.matches(title)) {
                count++;
            }
        }
        return count;
    }

    int requests() {
        return requests;
    }
}
