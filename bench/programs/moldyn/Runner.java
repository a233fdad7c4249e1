package moldyn;

import java.util.concurrent.BrokenBarrierException;

/** A thread's part of the work: a share of the particles and of the pairs, in step with the others. */
final class Runner implements Runnable {
    private final Simulation simulation;
    private final int id;
    private final int first;
    private final int end;

    Runner(Simulation simulation, int id) {
        this.simulation = simulation;
        this.id = id;
        int count = simulation.box.count();
        this.first = count * id / simulation.threads;
        this.end = count * (id + 1) / simulation.threads;
    }

    @Override
    public void run() {
        try {
            computeForces();
            for (int step = 0; step < simulation.steps; step++) {
                for (int index = first; index < end; index++) {
                    simulation.box.particle(index).move(simulation.stepSize, simulation.box.side());
                }
                simulation.barrier.await();
                computeForces();
                double energy = 0;
                for (int index = first; index < end; index++) {
                    energy += simulation.box.particle(index).accelerate(simulation.stepSize);
                }
                simulation.setKinetic(id, energy);
                simulation.barrier.await();
                if (id == 0) {
                    simulation.totalEnergy[step] = simulation.kinetic() + simulation.potential();
                    Simulation.interactions += simulation.pairs();
                }
                simulation.barrier.await();
            }
        } catch (InterruptedException | BrokenBarrierException stop) {
            throw new IllegalStateException(stop);
        }
    }

    private void computeForces() throws InterruptedException, BrokenBarrierException {
        Forces mine = simulation.forces[id];
        mine.clear();
        // Rows of the triangle of pairs are dealt out like cards, since they get shorter.
        for (int index = id; index < simulation.box.count(); index += simulation.threads) {
            mine.interact(simulation.box, index, simulation.cutoff);
        }
        simulation.barrier.await();
        for (int index = first; index < end; index++) {
            Particle particle = simulation.box.particle(index);
            particle.forceX = 0;
            particle.forceY = 0;
            particle.forceZ = 0;
            for (Forces part : simulation.forces) {
                part.addTo(particle, index);
            }
        }
        simulation.barrier.await();
    }
}
