package webserver;

import java.util.ArrayList;
import java.util.List;

/** A page with holes, parsed when it is first needed. */
final class Template {
    private static final String SOURCE = "<h1>{title}</h1><p>{greeting}, visitor {visitor}.</p>";

    /** Wrong: read without the lock and not volatile, so a thread may see a template half made. */
    private static Template page;

    private List<String> parts;
    private List<String> holes;

    private Template(String source) {
        parts = new ArrayList<>();
        holes = new ArrayList<>();
        int end = 0;
        int open = source.indexOf('{');
        while (open >= 0) {
            parts.add(source.substring(end, open));
            end = source.indexOf('}', open) + 1;
            holes.add(source.substring(open + 1, end - 1));
            open = source.indexOf('{', end);
        }
        parts.add(source.substring(end));
    }

    static Template page() {
        if (page == null) {
            synchronized (Template.class) {
                if (page == null) {
                    page = new Template(SOURCE);
                }
            }
        }
        return page;
    }

    void render(Config config, String visitor, Response response) {
        for (int index = 0; index < holes.size(); index++) {
            String hole = holes.get(index);
            response.append(parts.get(index));
            response.append(hole.equals("visitor") ? visitor : config.text(hole));
        }
        response.append(parts.get(holes.size()));
    }
}
