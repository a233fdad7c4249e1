package raytracer;

/** A point or a direction. Each thread has scratch vectors of its own and writes into them. */
final class Vec {
    double x;
    double y;
    double z;

    Vec() {}

    Vec(double x, double y, double z) {
        set(x, y, z);
    }

    Vec set(double newX, double newY, double newZ) {
        x = newX;
        y = newY;
        z = newZ;
        return this;
    }

    Vec set(Vec other) {
        return set(other.x, other.y, other.z);
    }

    Vec minus(Vec a, Vec b) {
        return set(a.x - b.x, a.y - b.y, a.z - b.z);
    }

    /** Becomes start + way * direction. */
    Vec along(Vec start, double way, Vec direction) {
        return set(start.x + way * direction.x, start.y + way * direction.y, start.z + way * direction.z);
    }

    double dot(Vec other) {
        return x * other.x + y * other.y + z * other.z;
    }

    Vec normalize() {
        double length = Math.sqrt(dot(this));
        return set(x / length, y / length, z / length);
    }
}
