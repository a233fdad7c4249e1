package moldyn;

import java.util.Random;

/** The particles in a cube without walls, started as a lattice. */
final class Box {
    private final Particle[] particles;
    private final double side;

    Box(int perEdge, double density, double temperature, long seed) {
        int count = perEdge * perEdge * perEdge;
        particles = new Particle[count];
        side = Math.cbrt(count / density);
        double gap = side / perEdge;
        Random random = new Random(seed);
        double scale = Math.sqrt(temperature);
        double driftX = 0;
        double driftY = 0;
        double driftZ = 0;
        int index = 0;
        for (int i = 0; i < perEdge; i++) {
            for (int j = 0; j < perEdge; j++) {
                for (int k = 0; k < perEdge; k++) {
                    Particle particle = new Particle((i + 0.5) * gap, (j + 0.5) * gap, (k + 0.5) * gap,
                            scale * random.nextGaussian(), scale * random.nextGaussian(),
                            scale * random.nextGaussian());
                    driftX += particle.speedX;
                    driftY += particle.speedY;
                    driftZ += particle.speedZ;
                    particles[index++] = particle;
                }
            }
        }
        for (Particle particle : particles) {
            particle.speedX -= driftX / count;
            particle.speedY -= driftY / count;
            particle.speedZ -= driftZ / count;
        }
    }

    int count() {
        return particles.length;
    }

    Particle particle(int index) {
        return particles[index];
    }

    double side() {
        return side;
    }
}
