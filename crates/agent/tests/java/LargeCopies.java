/** Copies more elements at once than an event has room for. */
public class LargeCopies {
    public static void main(String[] arguments) throws Exception {
        double[] many = new double[200_000];
        double[] copy = new double[200_000];
        Thread copies = new Thread(() -> System.arraycopy(many, 1, copy, 0, 199_000));
        Thread writes = new Thread(() -> {
            many[0] = 1;
            many[190_000] = 1;
            many[199_500] = 1;
            copy[65_536] = 1;
            copy[199_000] = 1;
        });
        copies.start();
        writes.start();
        copies.join();
        writes.join();
    }
}
