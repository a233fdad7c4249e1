package raytracer;

/** A ray tracer. Arguments: pixels along an edge (150), balls along an edge (4), threads (2). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int size = args.length > 0 ? Integer.parseInt(args[0]) : 150;
        int balls = args.length > 1 ? Integer.parseInt(args[1]) : 4;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        Scene scene = Scene.balls(balls);

        Image alone = new Image(size);
        Bench first = new Bench(scene, alone, 1);
        first.render();
        long expected = Bench.checksum;
        Image together = new Image(size);
        Bench second = new Bench(scene, together, threads);
        second.render();

        System.out.println(second.traced() + " rays, brightness " + together.sum());
        if (Bench.checksum != expected) {
            System.out.println("the checksum lost " + (expected - Bench.checksum) + " to a race");
        }
        boolean right = alone.hash() == together.hash() && expected == alone.sum()
                && first.traced() == second.traced();
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
