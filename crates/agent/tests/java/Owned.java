/** Objects with one owner, with a second one, and with several threads, in a fixed order. */
public class Owned {
    int own;
    int handedOn;
    int locked;
    int comesBackRacy;
    int differentRacy;
    final int[] elements = new int[4];
    final long[] elementsRacy = new long[4];

    static volatile boolean isSecond;

    /** The owner's accesses before another thread comes, and behind that with nothing released in between. */
    static void comeBack(Owned object, Thread second) throws InterruptedException {
        second.start();
        for (int round = 0; round < 100; round++) {
            object.comesBackRacy++;
            object.elementsRacy[1]++;
        }
        while (!isSecond) {
            Thread.onSpinWait();
        }
        object.comesBackRacy++;
        object.elementsRacy[1]++;
        second.join();
    }

    static void run(Runnable work) throws InterruptedException {
        Thread thread = new Thread(work);
        thread.start();
        thread.join();
    }

    static void lock(Owned object, Object lock, boolean isLocked) {
        synchronized (lock) {
            if (isLocked) {
                object.locked++;
                object.elements[2]++;
            } else {
                object.differentRacy++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Owned own = new Owned();
        for (int round = 0; round < 5000; round++) {
            own.own++;
            own.elements[round & 3]++;
        }
        Owned handedOn = new Owned();
        handedOn.handedOn++;
        run(() -> {
            for (int round = 0; round < 1000; round++) {
                handedOn.handedOn++;
            }
        });
        Owned locked = new Owned();
        Owned different = new Owned();
        Object lock = new Object();
        for (int round = 0; round < 3; round++) {
            Object other = new Object();
            run(() -> lock(locked, lock, true));
            run(() -> lock(different, other, false));
        }
        Owned comesBack = new Owned();
        comeBack(comesBack, new Thread(() -> {
            comesBack.comesBackRacy++;
            comesBack.elementsRacy[1]++;
            isSecond = true;
        }));
    }
}
