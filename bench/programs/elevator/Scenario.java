package elevator;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Who comes when, made from a seed, sorted by time. */
final class Scenario {
    private final List<Passenger> arrivals = new ArrayList<>();

    Scenario(int passengers, int floors, long seed) {
        Random random = new Random(seed);
        int tick = 0;
        for (int id = 0; id < passengers; id++) {
            tick += random.nextInt(3);
            // Half of all ways begin or end on the ground.
            int from = random.nextInt(4) == 0 ? 0 : random.nextInt(floors);
            int to = random.nextInt(4) == 0 ? 0 : random.nextInt(floors);
            if (to == from) {
                to = (from + 1 + random.nextInt(floors - 1)) % floors;
            }
            arrivals.add(new Passenger(id, from, to, tick));
        }
    }

    List<Passenger> arrivals() {
        return arrivals;
    }
}
