package tree;

import java.util.Random;

/** Search trees, one that all threads read and one of each thread. Arguments: keys (300000), threads (2). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int keys = args.length > 0 ? Integer.parseInt(args[0]) : 300_000;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        Tree shared = new Tree();
        Random random = new Random(17);
        for (int count = 0; count < keys / 10; count++) {
            shared.insert(random.nextInt(keys), random.nextInt());
        }
        long before = shared.sum();

        Total total = new Total();
        Thread[] workers = new Thread[threads];
        for (int id = 0; id < threads; id++) {
            workers[id] = new Thread(new Worker(shared, total, keys, 31 * id + 7), "worker-" + id);
            workers[id].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }

        // The same keys again, by one thread.
        long expected = 0;
        for (int id = 0; id < threads; id++) {
            Random again = new Random(31 * id + 7);
            for (int round = 0; round < keys; round++) {
                expected += shared.count(again.nextInt(keys));
                again.nextInt();
            }
        }
        System.out.println(shared.size() + " shared keys, found " + total.found() + " times");
        boolean right = total.found() == expected && shared.sum() == before;
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
