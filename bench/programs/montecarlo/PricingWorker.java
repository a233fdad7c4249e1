package montecarlo;

/** Simulates its share of the tasks. */
final class PricingWorker extends Traced implements Runnable {
    private final Pricing pricing;
    private final int id;
    private int done;

    PricingWorker(Pricing pricing, int id) {
        this.pricing = pricing;
        this.id = id;
    }

    @Override
    public void run() {
        PathTask[] tasks = pricing.tasks();
        int share = (tasks.length + pricing.workers() - 1) / pricing.workers();
        int end = Math.min(tasks.length, (id + 1) * share);
        for (int index = id * share; index < end; index++) {
            pricing.results().add(simulate(tasks[index]));
            done++;
        }
        trace("worker has done ", done);
    }

    private PathResult simulate(PathTask task) {
        PathGenerator generator = new PathGenerator(pricing.model(), pricing.steps(), task.seed());
        double[] path = generator.generate();
        double sum = 0;
        double squares = 0;
        for (int step = 1; step < path.length; step++) {
            double change = Math.log(path[step] / path[step - 1]);
            sum += change;
            squares += change * change;
        }
        int steps = path.length - 1;
        double mean = sum / steps;
        double variance = (squares / steps - mean * mean) * steps;
        PathResult result = new PathResult();
        result.setHeader(task.header());
        result.setFinalPrice(path[steps]);
        result.setExpectedReturn(sum + 0.5 * variance);
        result.setVolatility(Math.sqrt(variance));
        result.setPayoff(Math.max(0, path[steps] - pricing.strike()));
        return result;
    }

    int done() {
        return done;
    }
}
