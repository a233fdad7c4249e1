package raytracer;

/** A thing in the scene. */
abstract class Primitive {
    private final Surface surface;

    Primitive(Surface surface) {
        this.surface = surface;
    }

    Surface surface() {
        return surface;
    }

    /** The way along the ray to this thing, or infinity. */
    abstract double intersect(Ray ray);

    /** Writes the normal at a point into {@code result}. */
    abstract void normalAt(Vec point, Vec result);
}
