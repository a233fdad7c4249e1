package tsp;

/**
 * The beginning of a tour. Elements come from a pool: a worker borrows one, has it alone while it
 * fills it, hands it to whoever takes it from the queue, and that worker gives it back.
 */
final class TourElement {
    final int[] prefix;
    int length;
    int cost;
    int bound;
    int visited;

    TourElement(int cities) {
        prefix = new int[cities];
    }

    void reset() {
        length = 1;
        cost = 0;
        bound = 0;
        visited = 1;
        prefix[0] = 0;
    }

    int last() {
        return prefix[length - 1];
    }

    void copyFrom(TourElement other) {
        System.arraycopy(other.prefix, 0, prefix, 0, other.length);
        length = other.length;
        cost = other.cost;
        bound = other.bound;
        visited = other.visited;
    }

    void append(int city, int way) {
        prefix[length] = city;
        length++;
        cost += way;
        visited |= 1 << city;
    }
}
