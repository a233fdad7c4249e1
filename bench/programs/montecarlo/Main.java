package montecarlo;

/** What an option is worth, by chance. Arguments: paths (10000), steps of a path (200), threads (2). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int paths = args.length > 0 ? Integer.parseInt(args[0]) : 10_000;
        int steps = args.length > 1 ? Integer.parseInt(args[1]) : 200;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        Pricing pricing = new Pricing(new PriceSeries("ACME", 1000, 5), steps, threads);
        pricing.prepare(paths);
        int done = pricing.run();

        double drift = pricing.model().drift();
        double volatility = pricing.model().volatility();
        System.out.printf("return %.4f for %.4f, volatility %.4f for %.4f, option %.3f for %.3f%n",
                pricing.averageReturn(), drift, pricing.averageVolatility(), volatility,
                pricing.optionPrice(), pricing.formulaPrice());
        double error = volatility / Math.sqrt(paths);
        boolean right = done == paths && pricing.results().size() == paths
                && Math.abs(pricing.averageReturn() - drift) < 5 * error
                && Math.abs(pricing.averageVolatility() - volatility) < 0.02 * volatility
                && Math.abs(pricing.optionPrice() - pricing.formulaPrice())
                        < 8 * error * pricing.model().start();
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
