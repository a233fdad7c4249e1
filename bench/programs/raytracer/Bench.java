package raytracer;

/** A run: starts the workers, waits for them, and keeps the checksum. */
final class Bench {
    /** The brightness of all pixels that have been rendered. */
    static long checksum;

    private final Scene scene;
    private final Image image;
    private final int workers;
    private long traced;

    Bench(Scene scene, Image image, int workers) {
        this.scene = scene;
        this.image = image;
        this.workers = workers;
    }

    void render() throws InterruptedException {
        checksum = 0;
        TurnBarrier barrier = new TurnBarrier(workers);
        RenderWorker[] all = new RenderWorker[workers];
        Thread[] threads = new Thread[workers];
        for (int id = 1; id < workers; id++) {
            all[id] = new RenderWorker(id, workers, scene, image, barrier);
            threads[id] = new Thread(all[id], "render-" + id);
            threads[id].start();
        }
        all[0] = new RenderWorker(0, workers, scene, image, barrier);
        all[0].run();
        for (int id = 1; id < workers; id++) {
            threads[id].join();
        }
        for (RenderWorker worker : all) {
            traced += worker.traced();
        }
    }

    long traced() {
        return traced;
    }
}
