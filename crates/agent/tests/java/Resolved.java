import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

/** Calls whose meaning depends on what is found out late; the names of the fields say which race. */
public class Resolved {
    /** The class above is not loaded when this one is rewritten, and its method is called by the name of this one. */
    static class Halved extends RecursiveAction {
        int depthOk;
        int resultOk;

        Halved(int depth) {
            depthOk = depth;
        }

        @Override
        protected void compute() {
            resultOk = 1;
            if (depthOk > 0) {
                Halved one = new Halved(depthOk - 1);
                Halved other = new Halved(depthOk - 1);
                invokeAll(one, other);
                resultOk = one.resultOk + other.resultOk;
            }
        }
    }

    /** Takes over something only if it finds zero, and looks all the time. */
    static class Round {
        int doneOk;
        int behindRacy;
        final CountDownLatch latch = new CountDownLatch(1);
    }

    static void spin(Round round) {
        while (round.latch.getCount() != 0) {
            Thread.onSpinWait();
        }
        int seen = round.doneOk + round.behindRacy;
    }

    static int interruptedOk;
    static int laterRacy;

    static void waits(Object gate) {
        synchronized (gate) {
            try {
                gate.wait();
            } catch (InterruptedException e) {
                int seen = interruptedOk + laterRacy;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread waits = new Thread(() -> waits(new Object()));
        waits.start();
        interruptedOk = 1;
        waits.interrupt();
        laterRacy = 1;
        waits.join();
        new ForkJoinPool(4).invoke(new Halved(7));
        for (int count = 0; count < 200; count++) {
            Round round = new Round();
            Thread spins = new Thread(() -> spin(round));
            spins.start();
            round.doneOk = 1;
            round.latch.countDown();
            round.behindRacy = 1;
            spins.join();
        }
        Thread thread = new Thread(() -> firstRacy = secondRacy);
        thread.start();
        firstRacy = 1;
        secondRacy = 1;
        thread.join();
        System.out.println("done");
    }

    static int firstRacy;
    static int secondRacy;
}
