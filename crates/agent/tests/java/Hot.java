/** Enters monitors often enough to be compiled. */
public class Hot {
    private int count;
    private final Object lock = new Object();

    private void block() {
        synchronized (lock) {
            count++;
        }
    }

    private int loop(int[] numbers) {
        synchronized (lock) {
            while (numbers[0] > 0) {
                numbers[0]--;
            }
            return numbers[0];
        }
    }

    private synchronized void method() {
        count++;
    }

    public static void main(String[] arguments) {
        Hot hot = new Hot();
        for (int i = 0; i < 50_000; i++) {
            hot.block();
            hot.method();
            hot.loop(new int[] {3});
        }
        System.out.println(hot.count);
    }
}
