package heartbeat;

/**
 * A background thread that should end when it is told to.
 *
 * <p>{@code running} is neither volatile nor guarded: the loop may never see that it was cleared.
 * {@code beats} is volatile and written by one thread alone, which is correct.
 */
public final class Heartbeat implements Runnable {
    private boolean running = true;
    private volatile int beats;

    public static void main(String[] arguments) throws InterruptedException {
        Heartbeat heartbeat = new Heartbeat();
        Thread thread = new Thread(heartbeat, "heartbeat");
        thread.start();
        Thread.sleep(20);
        heartbeat.stop();
        thread.join(1_000);
        System.out.println(heartbeat.beats + " beats, still running: " + thread.isAlive());
        System.exit(0);
    }

    @Override
    public void run() {
        while (running) {
            beats = beats + 1;
            Thread.onSpinWait();
        }
    }

    void stop() {
        running = false;
    }
}
