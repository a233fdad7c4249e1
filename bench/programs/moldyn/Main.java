package moldyn;

/** Molecules that push and pull. Arguments: particles along an edge (8), steps (50), threads (2). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int edge = args.length > 0 ? Integer.parseInt(args[0]) : 8;
        int steps = args.length > 1 ? Integer.parseInt(args[1]) : 50;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 2;

        Simulation alone = new Simulation(new Box(edge, 0.6, 0.7, 3), 1, steps);
        alone.run();
        long pairsAlone = Simulation.interactions;
        Simulation together = new Simulation(new Box(edge, 0.6, 0.7, 3), threads, steps);
        together.run();

        double begin = together.totalEnergy[0];
        double end = together.totalEnergy[steps - 1];
        System.out.printf("%d particles, energy %.6f at the beginning, %.6f at the end, %d interactions%n",
                together.box.count(), begin, end, Simulation.interactions);
        boolean kept = Math.abs(end - begin) < 0.02 * Math.abs(begin);
        boolean same = Math.abs(end - alone.totalEnergy[steps - 1]) < 1e-6 * Math.abs(end)
                && pairsAlone == Simulation.interactions;
        System.out.println("energy " + (kept ? "kept" : "lost") + ", alone and together "
                + (same ? "the same" : "different"));
        System.out.println(kept && same ? "self-check: ok" : "self-check: FAILED");
        if (!kept || !same) {
            System.exit(1);
        }
    }
}
