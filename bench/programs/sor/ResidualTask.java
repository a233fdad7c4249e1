package sor;

import java.util.concurrent.RecursiveTask;

/** The sum of what is left to do, by halving the rows. */
final class ResidualTask extends RecursiveTask<Double> {
    private static final long serialVersionUID = 1;
    private static final int SMALL = 64;

    private final transient Grid grid;
    private final int first;
    private final int end;

    ResidualTask(Grid grid, int first, int end) {
        this.grid = grid;
        this.first = first;
        this.end = end;
    }

    @Override
    protected Double compute() {
        if (end - first <= SMALL) {
            return grid.residual(first, end);
        }
        int middle = (first + end) >>> 1;
        ResidualTask upper = new ResidualTask(grid, first, middle);
        ResidualTask lower = new ResidualTask(grid, middle, end);
        upper.fork();
        double sum = lower.compute();
        return sum + upper.join();
    }
}
