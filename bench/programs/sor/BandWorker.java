package sor;

/** Relaxes a band of rows, in step with the workers of the other bands. */
final class BandWorker implements Runnable {
    private final Grid grid;
    private final PhaseBarrier barrier;
    private final Settings settings;
    private final int first;
    private final int end;
    private int iterations;
    private double lastChange = Double.MAX_VALUE;

    BandWorker(Grid grid, PhaseBarrier barrier, Settings settings, int first, int end) {
        this.grid = grid;
        this.barrier = barrier;
        this.settings = settings;
        this.first = first;
        this.end = end;
    }

    @Override
    public void run() {
        try {
            while (iterations < settings.iterations() && lastChange > settings.tolerance()) {
                double red = grid.relax(Grid.RED, first, end, settings.omega());
                barrier.await(red);
                double black = grid.relax(Grid.BLACK, first, end, settings.omega());
                lastChange = barrier.await(Math.max(red, black));
                iterations++;
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    int iterations() {
        return iterations;
    }

    double lastChange() {
        return lastChange;
    }
}
