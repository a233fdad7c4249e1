/** Two threads write all elements of an array, and one beyond it. */
public class Cutoff {
    public static void main(String[] arguments) throws InterruptedException {
        long[] shared = new long[10];
        Thread other = new Thread(() -> fill(shared));
        other.start();
        fill(shared);
        other.join();
        System.out.println(shared[9]);
    }

    static void fill(long[] array) {
        try {
            for (int index = 0; ; index++) {
                array[index] = index;
            }
        } catch (ArrayIndexOutOfBoundsException expected) {
            array[expected.getMessage().length() % 10] = 9;
        }
    }
}
