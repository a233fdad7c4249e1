package crawler;

/**
 * Something a worker of the pool does for somebody else. Whoever asked may cancel it.
 */
abstract class Task implements Runnable {
    /** The worker that runs this task now, or null. */
    protected Thread thread;

    private volatile boolean cancelled;
    private boolean finished;

    /** The work itself. */
    protected abstract void runImpl() throws InterruptedException;

    /** Asks the work to end early. */
    abstract void cancel();

    @Override
    public void run() {
        thread = Thread.currentThread();
        try {
            if (!cancelled) {
                runImpl();
            }
        } catch (InterruptedException stop) {
            cancelled = true;
        } finally {
            // Wrong: a canceller may stand between its test of this field and its use.
            thread = null;
            // A late interrupt must not hit the next task of this worker.
            Thread.interrupted();
            finish();
        }
    }

    protected void markCancelled() {
        cancelled = true;
    }

    boolean isCancelled() {
        return cancelled;
    }

    private synchronized void finish() {
        finished = true;
        notifyAll();
    }

    /** Waits for the end, at most so long; false if it still runs. */
    synchronized boolean awaitEnd(long millis) throws InterruptedException {
        long deadline = System.nanoTime() + millis * 1_000_000;
        while (!finished) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
    }
}
