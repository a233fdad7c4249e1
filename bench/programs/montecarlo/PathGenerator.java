package montecarlo;

import java.util.Random;

/** Makes a path of prices by geometric Brownian motion. One per path: no state is shared. */
final class PathGenerator extends Traced {
    private final ReturnModel model;
    private final int steps;
    private final double[] path;
    private final Random random;

    PathGenerator(ReturnModel model, int steps, long seed) {
        this.model = model;
        this.steps = steps;
        this.path = new double[steps + 1];
        this.random = new Random(seed);
        setDebug(false);
    }

    double[] generate() {
        double dt = 1.0 / steps;
        double mean = (model.drift() - 0.5 * model.volatility() * model.volatility()) * dt;
        double spread = model.volatility() * Math.sqrt(dt);
        path[0] = model.start();
        for (int step = 1; step <= steps; step++) {
            path[step] = path[step - 1] * Math.exp(mean + spread * random.nextGaussian());
        }
        trace("end of a path: ", path[steps]);
        return path;
    }
}
