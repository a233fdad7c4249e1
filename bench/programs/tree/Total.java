package tree;

/** What all workers have found. */
final class Total {
    private long found;

    synchronized void add(long more) {
        found += more;
    }

    synchronized long found() {
        return found;
    }
}
