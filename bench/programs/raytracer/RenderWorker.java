package raytracer;

/** Renders every n-th row. */
final class RenderWorker implements Runnable {
    private final int id;
    private final int workers;
    private final Image image;
    private final Tracer tracer;
    private final TurnBarrier barrier;

    RenderWorker(int id, int workers, Scene scene, Image image, TurnBarrier barrier) {
        this.id = id;
        this.workers = workers;
        this.image = image;
        this.tracer = new Tracer(scene);
        this.barrier = barrier;
    }

    @Override
    public void run() {
        barrier.pass();
        for (int row = id; row < image.size(); row += workers) {
            long sum = 0;
            for (int column = 0; column < image.size(); column++) {
                int colour = tracer.colour(column, row, image.size());
                image.set(column, row, colour);
                sum += (colour & 255) + ((colour >> 8) & 255) + (colour >> 16);
            }
            addToChecksum(sum);
        }
        barrier.pass();
    }

    /** Wrong: the lock is this worker, and every worker is another. */
    private synchronized void addToChecksum(long sum) {
        Bench.checksum = Bench.checksum + sum;
    }

    long traced() {
        return tracer.traced();
    }
}
