package crawler;

/**
 * A meta crawler: several users ask several archives at once through a pool of workers. Arguments:
 * users (4), queries of each (25), most workers (8), milliseconds a search may take (40).
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int users = argument(args, 0, 4);
        int queries = argument(args, 1, 25);
        int workers = argument(args, 2, 8);
        int millis = argument(args, 3, 40);
        Archive[] archives = {
            new Archive("observatory", 120, 1, 11), new SlowArchive("satellite", 40, 4L * millis, 12)
        };
        WorkerPool pool = new WorkerPool(workers);
        Statistics statistics = new Statistics();
        Principal[] principals = new Principal[users];
        for (int id = 0; id < users; id++) {
            principals[id] = new Principal(id, pool, archives, statistics, queries, millis);
            principals[id].start();
        }
        boolean right = true;
        for (Principal principal : principals) {
            principal.join();
            right &= principal.isRight();
        }
        pool.close();

        System.out.println(statistics.searches() + " searches, " + statistics.distinct() + " distinct, "
                + statistics.hits() + " hits, " + statistics.timeouts() + " timeouts");
        System.out.println(pool.started() + " workers, " + pool.reused() + " times used again, about "
                + (archives[0].requests() + archives[1].requests()) + " requests");
        right &= statistics.searches() == users * queries;
        right &= pool.served() == users * queries * archives.length;
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }

    private static int argument(String[] args, int index, int otherwise) {
        return args.length > index ? Integer.parseInt(args[index]) : otherwise;
    }
}
