package sor;

/** How to solve. */
record Settings(int size, int iterations, int threads, double omega, double tolerance) {
    static Settings parse(String[] args) {
        int size = args.length > 0 ? Integer.parseInt(args[0]) : 500;
        int iterations = args.length > 1 ? Integer.parseInt(args[1]) : 50;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        double omega = 2 / (1 + Math.sin(Math.PI / size));
        return new Settings(size, iterations, threads, omega, 1e-12);
    }
}
