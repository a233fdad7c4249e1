package raytracer;

/** The floor: all points of one height. */
final class Plane extends Primitive {
    private final double height;

    Plane(double height, Surface surface) {
        super(surface);
        this.height = height;
    }

    @Override
    double intersect(Ray ray) {
        if (Math.abs(ray.direction.y) < 1e-9) {
            return Double.POSITIVE_INFINITY;
        }
        double way = (height - ray.origin.y) / ray.direction.y;
        return way > 1e-6 ? way : Double.POSITIVE_INFINITY;
    }

    @Override
    void normalAt(Vec point, Vec result) {
        result.set(0, 1, 0);
    }
}
