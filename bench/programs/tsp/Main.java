package tsp;

/**
 * The travelling salesman by branch and bound. Arguments: cities (14), threads (2), cities of a tour
 * that are chosen in the shared queue (5).
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int cities = args.length > 0 ? Integer.parseInt(args[0]) : 14;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        int depth = args.length > 2 ? Integer.parseInt(args[2]) : 5;
        Distances distances = new Distances(cities, 7);
        TourPool pool = new TourPool(5000, cities);
        WorkQueue queue = new WorkQueue();

        TourElement root = pool.borrow();
        root.reset();
        queue.put(root);

        TourSolver[] solvers = new TourSolver[threads];
        Thread[] workers = new Thread[threads];
        for (int index = 0; index < threads; index++) {
            solvers[index] = new TourSolver(distances, queue, pool, depth);
            workers[index] = new Thread(solvers[index], "solver-" + index);
            workers[index].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }

        long nodes = 0;
        long cuts = 0;
        for (TourSolver solver : solvers) {
            nodes += solver.nodes();
            cuts += solver.cuts();
        }
        int[] tour = BestTour.tour();
        System.out.println("length " + BestTour.minimum + ", " + BestTour.updates() + " updates, " + nodes
                + " nodes, " + cuts + " cuts, " + queue.taken() + " taken, " + pool.mostBorrowed()
                + " elements at once");
        boolean right = length(tour, distances) == BestTour.minimum && pool.borrowed() == 0
                && (cities > 16 || Exact.best(distances) == BestTour.minimum);
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }

    private static int length(int[] tour, Distances distances) {
        int sum = 0;
        for (int index = 0; index < tour.length; index++) {
            sum += distances.between(tour[index], tour[(index + 1) % tour.length]);
        }
        return tour.length == distances.cities() ? sum : -1;
    }
}
