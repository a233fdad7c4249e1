import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Two threads that hand variables to each other by atomic variables, at which they look again and again. A look that is left out
 * although it has found something new would make a race of it. The names of the fields say which have one.
 */
public class Looked {
    static final int ROUNDS = 300;

    /** Sends by a call that names the class above. */
    static class Own extends AtomicLong {
        void give(long value) {
            super.set(value);
        }
    }

    interface Turn {
        boolean isOf(int player);

        void next();
    }

    int setOk;
    int swappedOk;
    int ownOk;
    int countedOk;
    int behindRacy;

    final AtomicInteger number = new AtomicInteger();
    final AtomicReference<String> text = new AtomicReference<>("0");
    final Own own = new Own();
    final AtomicInteger counter = new AtomicInteger();

    void play(int player, Turn turn, Runnable step) {
        for (int round = 0; round < ROUNDS; round++) {
            while (!turn.isOf(player)) {
                Thread.yield();
            }
            step.run();
            turn.next();
        }
    }

    void run(int player) {
        play(player, new Turn() {
            public boolean isOf(int player) {
                return number.get() == player;
            }

            public void next() {
                number.set(1 - number.get());
            }
        }, () -> setOk++);
        play(player, new Turn() {
            public boolean isOf(int player) {
                return text.get().equals(player == 0 ? "0" : "1");
            }

            public void next() {
                String before = text.get();
                text.compareAndSet(before, before.equals("0") ? "1" : "0");
            }
        }, () -> swappedOk++);
        play(player, new Turn() {
            public boolean isOf(int player) {
                return own.get() == player;
            }

            public void next() {
                own.give(1 - own.get());
            }
        }, () -> ownOk++);
        play(player, new Turn() {
            public boolean isOf(int player) {
                return counter.get() % 2 == player;
            }

            public void next() {
                counter.incrementAndGet();
            }
        }, () -> countedOk++);
    }

    public static void main(String[] args) throws Exception {
        Looked looked = new Looked();
        CountDownLatch latch = new CountDownLatch(1);
        Thread first = new Thread(() -> {
            looked.run(0);
            latch.countDown();
            looked.behindRacy = 1;
        });
        Thread second = new Thread(() -> {
            looked.run(1);
            while (latch.getCount() > 0) {
                Thread.yield();
            }
            looked.behindRacy = 2;
        });
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println(looked.setOk + looked.swappedOk + looked.ownOk + looked.countedOk);
    }
}
