package raytracer;

/** Traces rays. Each thread has a tracer of its own, with everything a ray needs on its way. */
final class Tracer {
    private static final int DEPTH = 4;

    private final Scene scene;
    private final Ray[] rays = new Ray[DEPTH + 1];
    private final Ray shadow = new Ray();
    private final Vec[] points = new Vec[DEPTH + 1];
    private final Vec[] normals = new Vec[DEPTH + 1];
    private final Vec pixel = new Vec();
    private double red;
    private double green;
    private double blue;
    private long traced;

    Tracer(Scene scene) {
        this.scene = scene;
        for (int depth = 0; depth <= DEPTH; depth++) {
            rays[depth] = new Ray();
            points[depth] = new Vec();
            normals[depth] = new Vec();
        }
    }

    /** The colour of a pixel, eight bits each of red, green and blue. */
    int colour(int column, int row, int size) {
        red = 0;
        green = 0;
        blue = 0;
        pixel.set(5.0 * column / size - 2.5, 4.5 - 5.0 * row / size, -4);
        rays[0].from(scene.eye(), pixel);
        trace(0, 1.0);
        return (clamp(red) << 16) | (clamp(green) << 8) | clamp(blue);
    }

    private void trace(int depth, double weight) {
        traced++;
        Ray ray = rays[depth];
        Primitive nearest = null;
        double way = Double.POSITIVE_INFINITY;
        for (Primitive thing : scene.things()) {
            double distance = thing.intersect(ray);
            if (distance < way) {
                way = distance;
                nearest = thing;
            }
        }
        if (nearest == null) {
            red += weight * 0.2;
            green += weight * 0.3;
            blue += weight * 0.5;
            return;
        }
        Vec point = points[depth].along(ray.origin, way, ray.direction);
        Vec normal = normals[depth];
        nearest.normalAt(point, normal);
        if (normal.dot(ray.direction) > 0) {
            normal.set(-normal.x, -normal.y, -normal.z);
        }
        shade(nearest.surface(), point, normal, weight);
        double mirrored = weight * nearest.surface().mirror();
        if (depth < DEPTH && mirrored > 0.02) {
            Ray next = rays[depth + 1];
            double twice = 2 * normal.dot(ray.direction);
            next.origin.along(point, 1e-4, normal);
            next.direction.along(ray.direction, -twice, normal).normalize();
            trace(depth + 1, mirrored);
        }
    }

    private void shade(Surface surface, Vec point, Vec normal, double weight) {
        double bright = 0.1;
        for (Vec light : scene.lights()) {
            shadow.from(point, light);
            shadow.origin.along(point, 1e-4, normal);
            double angle = shadow.direction.dot(normal);
            if (angle > 0 && !isDark()) {
                bright += angle * surface.diffuse() / scene.lights().size();
            }
        }
        red += weight * bright * surface.red();
        green += weight * bright * surface.green();
        blue += weight * bright * surface.blue();
    }

    private boolean isDark() {
        for (Primitive thing : scene.things()) {
            if (thing.intersect(shadow) < Double.POSITIVE_INFINITY) {
                return true;
            }
        }
        return false;
    }

    private static int clamp(double brightness) {
        return (int) Math.max(0, Math.min(255, Math.round(brightness * 255)));
    }

    long traced() {
        return traced;
    }
}
