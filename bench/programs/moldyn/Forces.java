package moldyn;

/** The forces that one thread has computed, of all particles, and the energy in them. */
final class Forces {
    private final double[] x;
    private final double[] y;
    private final double[] z;
    private double potential;
    private double virial;
    private int pairs;

    Forces(int count) {
        x = new double[count];
        y = new double[count];
        z = new double[count];
    }

    void clear() {
        java.util.Arrays.fill(x, 0);
        java.util.Arrays.fill(y, 0);
        java.util.Arrays.fill(z, 0);
        potential = 0;
        virial = 0;
        pairs = 0;
    }

    /** Adds the forces between a particle and all that come after it (Lennard-Jones, cut off). */
    void interact(Box box, int first, double cutoff) {
        Particle one = box.particle(first);
        double side = box.side();
        double limit = cutoff * cutoff;
        for (int second = first + 1; second < box.count(); second++) {
            Particle other = box.particle(second);
            double dx = nearest(one.x - other.x, side);
            double dy = nearest(one.y - other.y, side);
            double dz = nearest(one.z - other.z, side);
            double square = dx * dx + dy * dy + dz * dz;
            if (square > limit) {
                continue;
            }
            double inverse2 = 1 / square;
            double inverse6 = inverse2 * inverse2 * inverse2;
            double strength = 48 * inverse2 * inverse6 * (inverse6 - 0.5);
            potential += 4 * inverse6 * (inverse6 - 1);
            virial -= strength * square;
            add(first, strength * dx, strength * dy, strength * dz);
            add(second, -strength * dx, -strength * dy, -strength * dz);
            pairs++;
        }
    }

    private void add(int index, double fx, double fy, double fz) {
        x[index] += fx;
        y[index] += fy;
        z[index] += fz;
    }

    private static double nearest(double distance, double side) {
        if (distance > 0.5 * side) {
            return distance - side;
        }
        return distance < -0.5 * side ? distance + side : distance;
    }

    void addTo(Particle particle, int index) {
        particle.forceX += x[index];
        particle.forceY += y[index];
        particle.forceZ += z[index];
    }

    double potential() {
        return potential;
    }

    double virial() {
        return virial;
    }

    int pairs() {
        return pairs;
    }
}
