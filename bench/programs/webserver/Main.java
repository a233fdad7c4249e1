package webserver;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A web server and its clients. Arguments: clients (6), requests of each (300), workers (4). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException, InterruptedException, ExecutionException {
        int clients = args.length > 0 ? Integer.parseInt(args[0]) : 6;
        int requests = args.length > 1 ? Integer.parseInt(args[1]) : 300;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 4;
        Server server = new Server(threads);
        server.start();

        ExecutorService pool = Executors.newFixedThreadPool(clients);
        List<Future<Client.Outcome>> futures = new ArrayList<>();
        for (int id = 0; id < clients; id++) {
            futures.add(pool.submit(new Client(id, server.port(), requests)));
        }
        int hellos = 0;
        int missing = 0;
        int puts = 0;
        boolean right = true;
        for (Future<Client.Outcome> future : futures) {
            Client.Outcome outcome = future.get();
            hellos += outcome.hellos();
            missing += outcome.missing();
            puts += outcome.puts();
            right &= outcome.right();
        }
        pool.shutdown();
        server.stop();

        Statistics statistics = server.statistics();
        System.out.println(statistics.summary() + ", at most " + statistics.peak() + " connections of "
                + server.accepted());
        System.out.println(server.sessions().size() + " sessions, " + server.sessions().expired() + " expired, "
                + server.documents().size() + " documents, " + server.configs().reloads() + " reloads");
        right &= server.failure() == null;
        right &= server.sessions().visits() == hellos;
        right &= statistics.errors() == missing && server.log().errors() == missing;
        right &= server.documents().revision() == puts;
        right &= server.log().lines() == statistics.requests() && statistics.bytes() > 0;
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
