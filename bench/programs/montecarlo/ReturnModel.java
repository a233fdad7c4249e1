package montecarlo;

/** Drift and volatility, estimated from a series of prices. */
final class ReturnModel {
    private static final double DAYS_A_YEAR = 252;

    private final double drift;
    private final double volatility;
    private final double start;

    ReturnModel(PriceSeries series) {
        int count = series.days() - 1;
        double sum = 0;
        double squares = 0;
        for (int day = 1; day <= count; day++) {
            double change = Math.log(series.close(day) / series.close(day - 1));
            sum += change;
            squares += change * change;
        }
        double mean = sum / count;
        double variance = squares / count - mean * mean;
        volatility = Math.sqrt(variance * DAYS_A_YEAR);
        drift = mean * DAYS_A_YEAR + 0.5 * volatility * volatility;
        start = series.close(series.days() - 1);
    }

    double drift() {
        return drift;
    }

    double volatility() {
        return volatility;
    }

    double start() {
        return start;
    }
}
