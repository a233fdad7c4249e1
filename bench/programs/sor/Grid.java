package sor;

import java.util.Random;

/** The plane: a rectangle of values whose border is fixed. Points are red or black like a chess board. */
final class Grid {
    static final int RED = 0;
    static final int BLACK = 1;

    private final double[][] value;
    private final int rows;
    private final int columns;

    Grid(int rows, int columns) {
        this.rows = rows;
        this.columns = columns;
        value = new double[rows][columns];
    }

    static Grid random(int rows, int columns, long seed) {
        Grid grid = new Grid(rows, columns);
        Random random = new Random(seed);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                grid.value[row][column] = random.nextDouble() * 1e-6;
            }
        }
        for (int column = 0; column < columns; column++) {
            grid.value[0][column] = 1.0;
        }
        return grid;
    }

    Grid copy() {
        Grid copy = new Grid(rows, columns);
        for (int row = 0; row < rows; row++) {
            System.arraycopy(value[row], 0, copy.value[row], 0, columns);
        }
        return copy;
    }

    int rows() {
        return rows;
    }

    /** Relaxes the points of a colour in rows from {@code first} up to, not including, {@code end}. */
    double relax(int colour, int first, int end, double omega) {
        double change = 0;
        double rest = 1 - omega;
        double quarter = omega * 0.25;
        for (int row = Math.max(1, first); row < Math.min(end, rows - 1); row++) {
            double[] above = value[row - 1];
            double[] here = value[row];
            double[] below = value[row + 1];
            for (int column = 1 + ((row + colour) & 1); column < columns - 1; column += 2) {
                double old = here[column];
                double next = quarter * (above[column] + below[column] + here[column - 1] + here[column + 1])
                        + rest * old;
                here[column] = next;
                change = Math.max(change, Math.abs(next - old));
            }
        }
        return change;
    }

    double residual(int first, int end) {
        double sum = 0;
        for (int row = Math.max(1, first); row < Math.min(end, rows - 1); row++) {
            for (int column = 1; column < columns - 1; column++) {
                double wanted = 0.25 * (value[row - 1][column] + value[row + 1][column]
                        + value[row][column - 1] + value[row][column + 1]);
                sum += Math.abs(wanted - value[row][column]);
            }
        }
        return sum;
    }

    boolean sameAs(Grid other) {
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                if (Double.compare(value[row][column], other.value[row][column]) != 0) {
                    return false;
                }
            }
        }
        return true;
    }
}
