package sor;

/** Successive over-relaxation. Arguments: size of the grid (500), iterations (50), threads (2). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        Settings settings = Settings.parse(args);
        Grid grid = Grid.random(settings.size(), settings.size(), 10101010);
        Grid reference = grid.copy();

        Solver parallel = new Solver(grid, settings);
        long start = System.nanoTime();
        parallel.solveInParallel();
        long parallelTime = System.nanoTime() - start;

        Solver alone = new Solver(reference, settings);
        start = System.nanoTime();
        alone.solveAlone();
        long aloneTime = System.nanoTime() - start;

        System.out.printf("%d iterations, last change %.3e, residual %.6f%n", parallel.iterations(),
                parallel.change(), parallel.residual());
        System.out.printf("%d ms with %d threads, %d ms alone%n", parallelTime / 1_000_000,
                settings.threads(), aloneTime / 1_000_000);
        // Points of one colour do not depend on each other, so the order of bands cannot matter.
        boolean right = grid.sameAs(reference) && parallel.iterations() == alone.iterations();
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
