package webserver;

import java.util.HashMap;
import java.util.Map;

/** Which handler answers which path. Filled before the server starts. */
final class Router {
    private final Map<String, Handler> handlers = new HashMap<>();
    private final Handler missing = (request, response) -> response.status(404).append("no " + request.path());

    Router on(String path, Handler handler) {
        handlers.put(path, handler);
        return this;
    }

    Handler find(String path) {
        int end = path.indexOf('/', 1);
        String head = end < 0 ? path : path.substring(0, end);
        return handlers.getOrDefault(head, missing);
    }
}
