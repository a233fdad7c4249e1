package crawler;

/** An archive that hangs every few requests, so that searches in it time out. */
final class SlowArchive extends Archive {
    private final long hangMillis;
    private int calls;

    SlowArchive(String name, int documents, long hangMillis, long seed) {
        super(name, documents, 1, seed);
        this.hangMillis = hangMillis;
    }

    @Override
    protected void travel() throws InterruptedException {
        boolean hang;
        synchronized (this) {
            calls++;
            hang = calls % 5 == 0;
        }
        if (hang) {
            Thread.sleep(hangMillis);
        } else {
            super.travel();
        }
    }
}
