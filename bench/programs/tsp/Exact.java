package tsp;

import java.util.Arrays;

/** The length of the best tour by dynamic programming over sets of cities: the judge. */
final class Exact {
    private Exact() {}

    static int best(Distances distances) {
        int others = distances.cities() - 1;
        int sets = 1 << others;
        int[][] shortest = new int[sets][others];
        for (int[] row : shortest) {
            Arrays.fill(row, Integer.MAX_VALUE / 2);
        }
        for (int city = 0; city < others; city++) {
            shortest[1 << city][city] = distances.between(0, city + 1);
        }
        for (int set = 1; set < sets; set++) {
            for (int last = 0; last < others; last++) {
                int sofar = shortest[set][last];
                if ((set & (1 << last)) == 0 || sofar >= Integer.MAX_VALUE / 2) {
                    continue;
                }
                for (int next = 0; next < others; next++) {
                    if ((set & (1 << next)) == 0) {
                        int with = set | (1 << next);
                        int length = sofar + distances.between(last + 1, next + 1);
                        shortest[with][next] = Math.min(shortest[with][next], length);
                    }
                }
            }
        }
        int best = Integer.MAX_VALUE;
        for (int last = 0; last < others; last++) {
            best = Math.min(best, shortest[sets - 1][last] + distances.between(last + 1, 0));
        }
        return best;
    }
}
