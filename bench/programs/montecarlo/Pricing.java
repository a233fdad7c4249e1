package montecarlo;

/** A simulation as a whole: tasks, workers, results, and what they mean together. */
final class Pricing extends Traced {
    private final ReturnModel model;
    private final int steps;
    private final int workers;
    private final double strike;
    private PathTask[] tasks;
    private ResultList results;

    Pricing(PriceSeries series, int steps, int workers) {
        this.model = new ReturnModel(series);
        this.steps = steps;
        this.workers = workers;
        this.strike = model.start();
        setDebug(false);
        setPrefix(series.name() + ": ");
    }

    void prepare(int paths) {
        tasks = new PathTask[paths];
        for (int number = 0; number < paths; number++) {
            tasks[number] = new PathTask(number, 7_919L * number + 11);
        }
        results = new ResultList(paths);
    }

    int run() throws InterruptedException {
        PricingWorker[] all = new PricingWorker[workers];
        Thread[] threads = new Thread[workers];
        for (int id = 0; id < workers; id++) {
            all[id] = new PricingWorker(this, id);
            threads[id] = new Thread(all[id], "pricing-" + id);
        }
        for (int id = 1; id < workers; id++) {
            threads[id].start();
        }
        threads[0].start();
        for (int id = 0; id < workers; id++) {
            threads[id].join();
        }
        int done = 0;
        for (PricingWorker worker : all) {
            done += worker.done();
        }
        return done;
    }

    double averageReturn() {
        double sum = 0;
        for (int index = 0; index < results.size(); index++) {
            sum += results.get(index).expectedReturn();
        }
        return sum / results.size();
    }

    double averageVolatility() {
        double sum = 0;
        for (int index = 0; index < results.size(); index++) {
            PathResult result = results.get(index);
            if (result.header() == null || !(result.finalPrice() > 0)) {
                throw new IllegalStateException("an empty result");
            }
            sum += result.volatility();
        }
        return sum / results.size();
    }

    double optionPrice() {
        return Math.exp(-model.drift()) * results.payoffSum() / results.size();
    }

    /** The price of the same option by the formula of Black and Scholes. */
    double formulaPrice() {
        double volatility = model.volatility();
        double first = model.drift() / volatility + 0.5 * volatility;
        double second = first - volatility;
        return model.start() * normal(first) - strike * Math.exp(-model.drift()) * normal(second);
    }

    private static double normal(double x) {
        // The integral of the bell from 0, by Simpson's rule.
        int parts = 200;
        double width = x / parts;
        double sum = bell(0) + bell(x);
        for (int part = 1; part < parts; part++) {
            sum += bell(part * width) * (part % 2 == 0 ? 2 : 4);
        }
        return 0.5 + sum * width / 3;
    }

    private static double bell(double x) {
        return Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
    }

    ReturnModel model() {
        return model;
    }

    int steps() {
        return steps;
    }

    int workers() {
        return workers;
    }

    double strike() {
        return strike;
    }

    PathTask[] tasks() {
        return tasks;
    }

    ResultList results() {
        return results;
    }
}
