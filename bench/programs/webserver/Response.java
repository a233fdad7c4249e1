package webserver;

import java.io.IOException;
import java.io.Writer;

/** What a handler answers; belongs to the thread that handles the request. */
final class Response {
    private int status = 200;
    private String type = "text/plain";
    private String session = "";
    private final StringBuilder body = new StringBuilder();

    Response status(int newStatus) {
        status = newStatus;
        return this;
    }

    Response type(String newType) {
        type = newType;
        return this;
    }

    Response session(String id) {
        session = id;
        return this;
    }

    Response append(Object text) {
        body.append(text);
        return this;
    }

    int status() {
        return status;
    }

    int length() {
        return body.length();
    }

    void write(Writer out) throws IOException {
        out.write("HTTP/1.1 " + status + (status == 200 ? " OK" : " Error") + "\r\n");
        out.write("Content-Type: " + type + "\r\n");
        out.write("Content-Length: " + body.length() + "\r\n");
        if (!session.isEmpty()) {
            out.write("X-Session: " + session + "\r\n");
        }
        out.write("\r\n");
        out.append(body);
        out.flush();
    }
}
