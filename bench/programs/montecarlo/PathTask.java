package montecarlo;

/** What to simulate: handed from the main thread to a worker. */
final class PathTask {
    private final String header;
    private final long seed;
    private final int number;

    PathTask(int number, long seed) {
        this.number = number;
        this.seed = seed;
        this.header = "path " + number;
    }

    long seed() {
        return seed;
    }

    int number() {
        return number;
    }

    String header() {
        return header;
    }
}
