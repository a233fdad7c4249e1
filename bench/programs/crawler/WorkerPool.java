package crawler;

import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;

/** Threads that are kept and used again. An idle worker waits on its own monitor for the next task. */
final class WorkerPool {
    private final LinkedList<Worker> idle = new LinkedList<>();
    private final List<Worker> all = new ArrayList<>();
    private final int limit;
    private int started;
    private int reused;
    private boolean closed;

    WorkerPool(int limit) {
        this.limit = limit;
    }

    /** Gives the task to an idle worker, or a new one, or waits for one. */
    void execute(Task task) throws InterruptedException {
        Worker worker;
        boolean isNew = false;
        synchronized (this) {
            while (idle.isEmpty() && all.size() >= limit) {
                wait();
            }
            if (closed) {
                throw new IllegalStateException("the pool is closed");
            }
            if (idle.isEmpty()) {
                worker = new Worker(this, started);
                started++;
                all.add(worker);
                isNew = true;
            } else {
                worker = idle.removeFirst();
                reused++;
            }
        }
        worker.assign(task);
        if (isNew) {
            worker.start();
        }
    }

    /** The worker has nothing to do. False: it shall end. */
    synchronized boolean release(Worker worker) {
        if (closed) {
            return false;
        }
        idle.addFirst(worker);
        notify();
        return true;
    }

    void close() throws InterruptedException {
        List<Worker> members;
        synchronized (this) {
            closed = true;
            members = new ArrayList<>(all);
            notifyAll();
        }
        for (Worker worker : members) {
            worker.dismiss();
        }
        for (Worker worker : members) {
            worker.join();
        }
    }

    synchronized int started() {
        return started;
    }

    synchronized int reused() {
        return reused;
    }

    /** A thread of the pool. */
    static final class Worker extends Thread {
        private final WorkerPool pool;
        private Task task;
        private boolean dismissed;
        private int served;

        Worker(WorkerPool pool, int number) {
            super("worker-" + number);
            this.pool = pool;
            setDaemon(true);
        }

        synchronized void assign(Task next) {
            task = next;
            notify();
        }

        synchronized void dismiss() {
            dismissed = true;
            notify();
        }

        private synchronized Task next() {
            while (task == null && !dismissed) {
                try {
                    wait();
                } catch (InterruptedException late) {
                    // An interrupt that was meant for the last task.
                    continue;
                }
            }
            Task next = task;
            task = null;
            return next;
        }

        @Override
        public void run() {
            Task current = next();
            while (current != null) {
                current.run();
                served++;
                if (!pool.release(this)) {
                    return;
                }
                current = next();
            }
        }

        int served() {
            return served;
        }
    }

    /** How many tasks all workers served; once the pool is closed. */
    int served() {
        int sum = 0;
        for (Worker worker : all) {
            sum += worker.served();
        }
        return sum;
    }
}
