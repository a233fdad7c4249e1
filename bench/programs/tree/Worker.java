package tree;

import java.util.Random;

/** Builds a tree of its own, looks keys up in a tree that all share, and puts what it found into the total. */
final class Worker implements Runnable {
    private final Tree shared;
    private final Total total;
    private final int keys;
    private final long seed;

    Worker(Tree shared, Total total, int keys, long seed) {
        this.shared = shared;
        this.total = total;
        this.keys = keys;
        this.seed = seed;
    }

    @Override
    public void run() {
        Random random = new Random(seed);
        Tree own = new Tree();
        long found = 0;
        long inserted = 0;
        for (int round = 0; round < keys; round++) {
            int key = random.nextInt(keys);
            own.insert(key, random.nextInt());
            inserted += key;
            found += shared.count(key);
            if (round % 1000 == 999) {
                total.add(found);
                found = 0;
            }
        }
        total.add(found);
        if (own.sum() != inserted) {
            throw new IllegalStateException("keys were lost");
        }
    }
}
