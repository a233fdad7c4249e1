package raytracer;

/** A ball. */
final class Sphere extends Primitive {
    private final Vec center;
    private final double radius;
    private final double square;

    Sphere(Vec center, double radius, Surface surface) {
        super(surface);
        this.center = center;
        this.radius = radius;
        this.square = radius * radius;
    }

    @Override
    double intersect(Ray ray) {
        double dx = center.x - ray.origin.x;
        double dy = center.y - ray.origin.y;
        double dz = center.z - ray.origin.z;
        double ahead = dx * ray.direction.x + dy * ray.direction.y + dz * ray.direction.z;
        double inside = ahead * ahead - (dx * dx + dy * dy + dz * dz) + square;
        if (inside < 0) {
            return Double.POSITIVE_INFINITY;
        }
        double root = Math.sqrt(inside);
        double near = ahead - root;
        if (near > 1e-6) {
            return near;
        }
        double far = ahead + root;
        return far > 1e-6 ? far : Double.POSITIVE_INFINITY;
    }

    @Override
    void normalAt(Vec point, Vec result) {
        result.set((point.x - center.x) / radius, (point.y - center.y) / radius,
                (point.z - center.z) / radius);
    }
}
