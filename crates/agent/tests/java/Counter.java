/** Four threads add to one counter under one lock, which each enters twice. */
public class Counter {
    private int count;

    private synchronized void add() {
        count++;
    }

    public static void main(String[] arguments) throws Exception {
        Counter counter = new Counter();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int round = 0; round < 2000; round++) {
                    synchronized (counter) {
                        counter.add();
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (counter.count != 8000) {
            throw new AssertionError(counter.count);
        }
    }
}
