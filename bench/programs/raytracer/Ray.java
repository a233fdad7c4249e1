package raytracer;

/** Where a ray starts and where it goes; used again for the next ray. */
final class Ray {
    final Vec origin = new Vec();
    final Vec direction = new Vec();

    void from(Vec start, Vec target) {
        origin.set(start);
        direction.minus(target, start).normalize();
    }
}
