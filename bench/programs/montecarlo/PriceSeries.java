package montecarlo;

import java.util.Random;

/** Historic prices of a share, made up from a seed since the exchange is closed. */
final class PriceSeries {
    private final String name;
    private final double[] close;

    PriceSeries(String name, int days, long seed) {
        this.name = name;
        close = new double[days];
        Random random = new Random(seed);
        double price = 100;
        for (int day = 0; day < days; day++) {
            close[day] = price;
            price *= Math.exp(0.0003 + 0.012 * random.nextGaussian());
        }
    }

    String name() {
        return name;
    }

    int days() {
        return close.length;
    }

    double close(int day) {
        return close[day];
    }
}
