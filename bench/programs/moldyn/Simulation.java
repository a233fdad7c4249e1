package moldyn;

import java.util.concurrent.CyclicBarrier;

/** What all threads of a run share. */
final class Simulation {
    /**
     * Pairs that were near enough, over all steps. Written and read by the runner with number 0 only,
     * and by the main thread at the end.
     */
    static long interactions;

    final Box box;
    final Forces[] forces;
    final CyclicBarrier barrier;
    final int threads;
    final int steps;
    final double stepSize;
    final double cutoff;
    /** Of all steps; filled by the runner with number 0. */
    final double[] totalEnergy;
    private final double[] kinetic;

    Simulation(Box box, int threads, int steps) {
        this.box = box;
        this.threads = threads;
        this.steps = steps;
        this.stepSize = 0.002;
        this.cutoff = Math.min(2.5, box.side() / 2);
        this.barrier = new CyclicBarrier(threads);
        this.forces = new Forces[threads];
        this.kinetic = new double[threads];
        this.totalEnergy = new double[steps];
        for (int id = 0; id < threads; id++) {
            forces[id] = new Forces(box.count());
        }
    }

    void setKinetic(int id, double energy) {
        kinetic[id] = energy;
    }

    double kinetic() {
        double sum = 0;
        for (double energy : kinetic) {
            sum += energy;
        }
        return sum;
    }

    double potential() {
        double sum = 0;
        for (Forces part : forces) {
            sum += part.potential();
        }
        return sum;
    }

    int pairs() {
        int sum = 0;
        for (Forces part : forces) {
            sum += part.pairs();
        }
        return sum;
    }

    void run() throws InterruptedException {
        interactions = 0;
        Thread[] others = new Thread[threads];
        for (int id = 1; id < threads; id++) {
            others[id] = new Thread(new Runner(this, id), "runner-" + id);
            others[id].start();
        }
        new Runner(this, 0).run();
        for (int id = 1; id < threads; id++) {
            others[id].join();
        }
    }
}
