package raytracer;

import java.util.ArrayList;
import java.util.List;

/** All things, lights and the eye. Built by the main thread, then only read. */
final class Scene {
    private final List<Primitive> things = new ArrayList<>();
    private final List<Vec> lights = new ArrayList<>();
    private final Vec eye = new Vec(0, 2, -9);

    static Scene balls(int perEdge) {
        Scene scene = new Scene();
        for (int i = 0; i < perEdge; i++) {
            for (int j = 0; j < perEdge; j++) {
                for (int k = 0; k < perEdge; k++) {
                    Surface surface = new Surface(0.3 + 0.7 * i / perEdge, 0.3 + 0.7 * j / perEdge,
                            0.3 + 0.7 * k / perEdge, 0.7, 0.3);
                    double gap = 5.0 / perEdge;
                    Vec center = new Vec(-2.5 + gap * (i + 0.5), gap * (j + 0.5), gap * k);
                    scene.things.add(new Sphere(center, gap * 0.38, surface));
                }
            }
        }
        scene.things.add(new Plane(-0.1, new Surface(0.6, 0.6, 0.6, 0.9, 0.1)));
        scene.lights.add(new Vec(10, 14, -10));
        scene.lights.add(new Vec(-8, 9, -12));
        return scene;
    }

    List<Primitive> things() {
        return things;
    }

    List<Vec> lights() {
        return lights;
    }

    Vec eye() {
        return eye;
    }
}
