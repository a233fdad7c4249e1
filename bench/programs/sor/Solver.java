package sor;

import java.util.concurrent.ForkJoinPool;

/** Starts the workers of all bands and waits for them. */
final class Solver {
    private final Grid grid;
    private final Settings settings;
    private int iterations;
    private double change;

    Solver(Grid grid, Settings settings) {
        this.grid = grid;
        this.settings = settings;
    }

    void solveInParallel() throws InterruptedException {
        int count = settings.threads();
        PhaseBarrier barrier = new PhaseBarrier(count);
        BandWorker[] workers = new BandWorker[count];
        Thread[] threads = new Thread[count];
        for (int index = 0; index < count; index++) {
            int first = grid.rows() * index / count;
            int end = grid.rows() * (index + 1) / count;
            workers[index] = new BandWorker(grid, barrier, settings, first, end);
            threads[index] = new Thread(workers[index], "band-" + index);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        iterations = workers[0].iterations();
        change = workers[0].lastChange();
        for (BandWorker worker : workers) {
            if (worker.iterations() != iterations) {
                throw new IllegalStateException("the workers are out of step");
            }
        }
        if (barrier.phase() != 2 * iterations) {
            throw new IllegalStateException(barrier.phase() + " phases");
        }
    }

    void solveAlone() {
        change = Double.MAX_VALUE;
        while (iterations < settings.iterations() && change > settings.tolerance()) {
            double red = grid.relax(Grid.RED, 0, grid.rows(), settings.omega());
            double black = grid.relax(Grid.BLACK, 0, grid.rows(), settings.omega());
            change = Math.max(red, black);
            iterations++;
        }
    }

    double residual() {
        return ForkJoinPool.commonPool().invoke(new ResidualTask(grid, 0, grid.rows()));
    }

    int iterations() {
        return iterations;
    }

    double change() {
        return change;
    }
}
