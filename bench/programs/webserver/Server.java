package webserver;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The server: a thread that accepts, a pool that serves, a schedule that cleans up and reloads. */
final class Server implements Runnable {
    private final ServerSocket socket;
    private final ExecutorService workers;
    private final ScheduledExecutorService schedule = Executors.newScheduledThreadPool(2);
    private final ConfigStore configs = new ConfigStore();
    private final SessionTable sessions = new SessionTable(configs);
    private final Statistics statistics = new Statistics();
    private final DocumentStore documents = new DocumentStore();
    private final AccessLog log = new AccessLog();
    private final Router router = new Router();
    private final Thread acceptor = new Thread(this, "acceptor");
    private volatile boolean running = true;
    private volatile IOException failure;
    /** The acceptor's own until it is joined. */
    private int accepted;
    /** Told by the config store in whichever thread reloads. Wrong: no lock and not volatile. */
    private int configVersion;

    Server(int threads) throws IOException {
        socket = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        workers = Executors.newFixedThreadPool(threads);
        router.on("/hello", this::hello)
                .on("/doc", this::document)
                .on("/status", (request, response) -> response.append(statistics.summary())
                        .append(", config ").append(configVersion))
                .on("/reload", (request, response) -> {
                    configs.reload();
                    response.append(configs.current().version());
                });
        configs.onChange(config -> configVersion = config.version());
    }

    void start() {
        log.start();
        acceptor.start();
        schedule.scheduleAtFixedRate(sessions::expire, 10, 10, TimeUnit.MILLISECONDS);
        schedule.scheduleWithFixedDelay(configs::reload, 20, 20, TimeUnit.MILLISECONDS);
    }

    @Override
    public void run() {
        while (running) {
            try {
                Socket client = socket.accept();
                accepted++;
                workers.execute(new Connection(this, client));
            } catch (IOException broken) {
                if (running) {
                    failed(broken);
                }
            }
        }
    }

    void stop() throws IOException, InterruptedException {
        running = false;
        socket.close();
        acceptor.join();
        workers.shutdown();
        schedule.shutdown();
        if (!workers.awaitTermination(10, TimeUnit.SECONDS) || !schedule.awaitTermination(10, TimeUnit.SECONDS)) {
            throw new IllegalStateException("workers do not end");
        }
        log.close();
    }

    private void hello(Request request, Response response) {
        Session session = sessions.find(request.session());
        session.visit(request.path());
        response.type("text/html").session(session.id());
        Template.page().render(configs.current(), session.id(), response);
    }

    private void document(Request request, Response response) {
        String name = request.path().substring("/doc".length());
        switch (request.method()) {
            case "PUT" -> response.append(documents.put(name, request.body()));
            case "GET" -> {
                String text = documents.get(name);
                if (text == null) {
                    response.status(404);
                } else {
                    response.append(text);
                }
            }
            default -> response.status(405);
        }
    }

    void failed(IOException broken) {
        failure = broken;
    }

    int port() {
        return socket.getLocalPort();
    }

    IOException failure() {
        return failure;
    }

    int accepted() {
        return accepted;
    }

    ConfigStore configs() {
        return configs;
    }

    SessionTable sessions() {
        return sessions;
    }

    Statistics statistics() {
        return statistics;
    }

    DocumentStore documents() {
        return documents;
    }

    AccessLog log() {
        return log;
    }

    Router router() {
        return router;
    }
}
