package raytracer;

/** How a thing looks. Immutable. */
record Surface(double red, double green, double blue, double diffuse, double mirror) {}
