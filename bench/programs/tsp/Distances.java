package tsp;

import java.util.Random;

/** Cities in a square and the rounded ways between them. Never changed after it is made. */
final class Distances {
    private final int[][] way;
    private final int cities;

    Distances(int cities, long seed) {
        this.cities = cities;
        way = new int[cities][cities];
        Random random = new Random(seed);
        double[] x = new double[cities];
        double[] y = new double[cities];
        for (int city = 0; city < cities; city++) {
            x[city] = random.nextDouble() * 1000;
            y[city] = random.nextDouble() * 1000;
        }
        for (int from = 0; from < cities; from++) {
            for (int to = 0; to < cities; to++) {
                way[from][to] = (int) Math.round(Math.hypot(x[from] - x[to], y[from] - y[to]));
            }
        }
    }

    int cities() {
        return cities;
    }

    int between(int from, int to) {
        return way[from][to];
    }

    /** The shortest way out of a city to one that the bits do not name, or home to city 0. */
    int shortestOut(int from, int visited) {
        int best = way[from][0];
        for (int to = 1; to < cities; to++) {
            if (to != from && (visited & (1 << to)) == 0) {
                best = Math.min(best, way[from][to]);
            }
        }
        return best;
    }
}
