package elevator;

/** Simulated time, driven in real time by a thread of its own. */
final class Clock implements Runnable {
    private final long tickMicros;
    private int now;
    private boolean stopped;

    Clock(long tickMicros) {
        this.tickMicros = tickMicros;
    }

    @Override
    public void run() {
        try {
            while (tick()) {
                Thread.sleep(tickMicros / 1000, (int) (tickMicros % 1000) * 1000);
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean tick() {
        now++;
        notifyAll();
        return !stopped;
    }

    synchronized int now() {
        return now;
    }

    /** Returns once it is later than {@code tick}, or the clock stands still. */
    synchronized void awaitTick(int tick) throws InterruptedException {
        while (now <= tick && !stopped) {
            wait();
        }
    }

    synchronized void stop() {
        stopped = true;
        notifyAll();
    }
}
