package moldyn;

/** A molecule: place, speed, and the force on it in this step. */
final class Particle {
    double x;
    double y;
    double z;
    double speedX;
    double speedY;
    double speedZ;
    double forceX;
    double forceY;
    double forceZ;

    Particle(double x, double y, double z, double speedX, double speedY, double speedZ) {
        this.x = x;
        this.y = y;
        this.z = z;
        this.speedX = speedX;
        this.speedY = speedY;
        this.speedZ = speedZ;
    }

    /** Half a step of speed and a whole step of place. */
    void move(double step, double side) {
        speedX += 0.5 * step * forceX;
        speedY += 0.5 * step * forceY;
        speedZ += 0.5 * step * forceZ;
        x = wrap(x + step * speedX, side);
        y = wrap(y + step * speedY, side);
        z = wrap(z + step * speedZ, side);
    }

    /** The second half step of speed; returns the kinetic energy. */
    double accelerate(double step) {
        speedX += 0.5 * step * forceX;
        speedY += 0.5 * step * forceY;
        speedZ += 0.5 * step * forceZ;
        return 0.5 * (speedX * speedX + speedY * speedY + speedZ * speedZ);
    }

    private static double wrap(double place, double side) {
        if (place < 0) {
            return place + side;
        }
        return place >= side ? place - side : place;
    }
}
