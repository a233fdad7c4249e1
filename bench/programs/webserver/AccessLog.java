package webserver;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Workers queue entries, one thread writes them. */
final class AccessLog implements Runnable {
    private static final Entry END = new Entry("", "", 0);

    private final BlockingQueue<Entry> queue = new LinkedBlockingQueue<>(10_000);
    private final StringBuilder text = new StringBuilder();
    private final Thread writer;
    private int lines;
    private int errors;

    AccessLog() {
        writer = new Thread(this, "access-log");
    }

    void start() {
        writer.start();
    }

    void add(String worker, Request request, int status) throws InterruptedException {
        queue.put(new Entry(worker, request.method() + " " + request.path(), status));
    }

    @Override
    public void run() {
        try {
            Entry entry = queue.take();
            while (entry != END) {
                write(entry);
                entry = queue.take();
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void write(Entry entry) {
        text.append(entry.worker).append(' ').append(entry.what).append(' ').append(entry.status).append('\n');
        lines++;
        if (entry.status >= 400) {
            errors++;
        }
        if (text.length() > 100_000) {
            text.setLength(0);
        }
    }

    void close() throws InterruptedException {
        queue.put(END);
        writer.join();
    }

    /** Once the log is closed. */
    int lines() {
        return lines;
    }

    int errors() {
        return errors;
    }

    /** A line. Filled before it is queued, read after it is taken. */
    private static final class Entry {
        private String worker;
        private String what;
        private int status;

        Entry(String worker, String what, int status) {
            this.worker = worker;
            this.what = what;
            this.status = status;
        }
    }
}
