package webserver;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Serves one client until it goes: the task of a worker. */
final class Connection implements Runnable {
    private final Server server;
    private final Socket socket;
    private int served;

    Connection(Server server, Socket socket) {
        this.server = server;
        this.socket = socket;
    }

    @Override
    public void run() {
        server.statistics().connected();
        try (socket;
                BufferedReader in = new BufferedReader(
                        new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
                Writer out = new BufferedWriter(
                        new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.ISO_8859_1))) {
            int limit = server.configs().current().keepAlive();
            Request request = Request.read(in);
            while (request != null) {
                serve(request, out);
                served++;
                if (request.wantsClose() || served == limit) {
                    break;
                }
                request = Request.read(in);
            }
        } catch (IOException broken) {
            server.failed(broken);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        } finally {
            server.statistics().disconnected();
        }
    }

    private void serve(Request request, Writer out) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Response response = new Response();
        try {
            server.router().find(request.path()).handle(request, response);
        } catch (RuntimeException bug) {
            response.status(500).append(bug);
        }
        // Counted first, so that a client that has its answer finds itself in the figures.
        server.statistics().served(response.status(), (System.nanoTime() - start) / 1000, response.length());
        server.log().add(Thread.currentThread().getName(), request, response.status());
        response.write(out);
    }
}
