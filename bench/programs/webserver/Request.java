package webserver;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** A request as it was read from a connection. */
record Request(String method, String path, Map<String, String> headers, String body) {
    /** Reads a request, or returns null at the end of the connection. */
    static Request read(BufferedReader in) throws IOException {
        String first = in.readLine();
        if (first == null || first.isEmpty()) {
            return null;
        }
        String[] parts = first.split(" ");
        if (parts.length < 2) {
            throw new IOException("not a request: " + first);
        }
        Map<String, String> headers = new HashMap<>();
        String line = in.readLine();
        while (line != null && !line.isEmpty()) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                headers.put(line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).trim());
            }
            line = in.readLine();
        }
        int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
        char[] body = new char[length];
        int read = 0;
        while (read < length) {
            int count = in.read(body, read, length - read);
            if (count < 0) {
                throw new IOException("the body ends after " + read + " of " + length);
            }
            read += count;
        }
        return new Request(parts[0], parts[1], headers, new String(body));
    }

    String session() {
        return headers.getOrDefault("x-session", "");
    }

    boolean wantsClose() {
        return "close".equalsIgnoreCase(headers.get("connection"));
    }
}
