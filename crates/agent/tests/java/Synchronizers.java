import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * A racy and a clean use of the locks and synchronizers of the library; the names of the fields say which.
 * Where a second thread waits for the first without any order that counts, it asks for its state until it
 * waits too.
 */
public class Synchronizers extends Turns {
    int lockOk;
    int lockRacy;
    int tryOk;
    int tryRacy;
    int timedOk;
    int readOk;
    int readRacy;
    int stampedOk;
    int stampedRacy;
    int optimisticOk;
    int convertedOk;
    int viewOk;
    int conditionOk;
    int conditionRacy;
    int interruptedOk;
    int latchOk;
    int latchRacy;
    int barrierOk;
    int barrierRacy;
    int semaphoreOk;
    int semaphoreRacy;
    int exchangerOk;
    int exchangerRacy;
    int phaserOk;
    int phaserRacy;
    int parkOk;
    int parkRacy;
    int aliveOk;
    int interruptOk;
    int interruptRacy;
    int ownOk;
    int ownRacy;
    boolean ready;

    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    /** A lock of the program's own, made of the library's. */
    static class Inherited extends ReentrantLock {
        int depth;

        @Override
        public void lock() {
            super.lock();
            depth++;
        }
    }

    /** Looks like a lock and is none. */
    static class Fake extends ReentrantLock {
        @Override
        public void lock() {}

        @Override
        public void unlock() {}
    }

    void locked(Lock lock, Runnable body) {
        lock.lock();
        try {
            body.run();
        } finally {
            lock.unlock();
        }
    }

    void locks() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        both(() -> locked(lock, () -> lockOk++), () -> {
            lock.lockInterruptibly();
            lock.lock();
            lock.unlock();
            lockOk++;
            lock.unlock();
        });
        both(() -> locked(lock, () -> lockRacy++), () -> locked(new ReentrantLock(), () -> lockRacy++));
        Inherited inherited = new Inherited();
        both(() -> locked(inherited, () -> ownOk++), () -> locked(inherited, () -> ownOk++));
        Fake fake = new Fake();
        both(() -> locked(fake, () -> ownRacy++), () -> locked(fake, () -> ownRacy++));
    }

    void tryLocks() throws Exception {
        Lock lock = new ReentrantLock();
        Body tries = () -> {
            while (!lock.tryLock()) {
                Thread.onSpinWait();
            }
            tryOk++;
            lock.unlock();
        };
        both(tries, tries);
        Body waits = () -> {
            if (lock.tryLock(1, TimeUnit.MINUTES)) {
                timedOk++;
                lock.unlock();
            }
        };
        both(waits, waits);
        // The second does not get the lock and goes on without it.
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        both(() -> {
            lock.lock();
            held.countDown();
            tryRacy++;
            done.await();
            lock.unlock();
        }, () -> {
            held.await();
            if (!lock.tryLock()) {
                tryRacy++;
                done.countDown();
            }
        });
    }

    void readers() throws Exception {
        ReadWriteLock lock = new ReentrantReadWriteLock();
        Body reads = () -> {
            lock.readLock().lock();
            int seen = readOk;
            lock.readLock().unlock();
        };
        both(() -> locked(lock.writeLock(), () -> readOk++), () -> {
            reads.run();
            locked(lock.writeLock(), () -> readOk++);
        });
        both(reads, () -> locked(lock.writeLock(), () -> readOk++));
        // Two readers do not exclude each other.
        both(() -> locked(lock.readLock(), () -> readRacy++), () -> locked(lock.readLock(), () -> readRacy++));
    }

    void stamped() throws Exception {
        StampedLock lock = new StampedLock();
        Body writes = () -> {
            long stamp = lock.writeLock();
            stampedOk++;
            lock.unlock(stamp);
        };
        both(writes, writes);
        both(writes, () -> {
            long stamp = lock.readLock();
            int seen = stampedOk;
            lock.unlockRead(stamp);
        });
        Body shares = () -> {
            long stamp = lock.readLock();
            stampedRacy++;
            lock.unlockRead(stamp);
        };
        both(shares, shares);
        long first = lock.writeLock();
        optimisticOk = 1;
        lock.unlockWrite(first);
        Thread optimist = start(() -> {
            long stamp = lock.tryOptimisticRead();
            int seen = optimisticOk;
            if (!lock.validate(stamp)) {
                throw new AssertionError();
            }
        });
        while (optimist.getState() != Thread.State.TERMINATED) {
            Thread.sleep(1);
        }
        long stamp = lock.writeLock();
        optimisticOk = 2;
        lock.unlockWrite(stamp);
        Body converts = () -> {
            long shared = lock.readLock();
            long own = lock.tryConvertToWriteLock(shared);
            if (own == 0) {
                lock.unlockRead(shared);
                own = lock.writeLock();
            }
            convertedOk++;
            lock.unlockWrite(own);
        };
        both(converts, converts);
        Lock view = lock.asWriteLock();
        both(() -> locked(view, () -> viewOk++), () -> locked(lock.asReadWriteLock().writeLock(), () -> viewOk++));
    }

    void conditions() throws Exception {
        Lock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        both(() -> {
            conditionOk = 1;
            locked(lock, () -> {
                ready = true;
                condition.signalAll();
            });
            conditionRacy = 1;
        }, () -> {
            lock.lock();
            while (!ready) {
                condition.await();
            }
            lock.unlock();
            int seen = conditionOk + conditionRacy;
        });
        // Who is interrupted has the lock again.
        Thread waiting = start(() -> {
            lock.lock();
            try {
                condition.await();
            } catch (InterruptedException expected) {
                interruptedOk++;
            }
            interruptedOk++;
            lock.unlock();
        });
        while (waiting.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        locked(lock, () -> {
            interruptedOk++;
            waiting.interrupt();
        });
        waiting.join();
    }

    void meetings() throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        both(() -> {
            latchOk = 1;
            latch.countDown();
            latchRacy = 1;
        }, () -> {
            latch.await();
            int seen = latchOk + latchRacy;
        });
        CyclicBarrier barrier = new CyclicBarrier(2);
        both(() -> {
            barrierOk = 1;
            barrier.await();
            barrierRacy = 1;
        }, () -> {
            barrier.await();
            barrierRacy = 2;
            barrierOk = 2;
        });
        Semaphore semaphore = new Semaphore(0);
        both(() -> {
            semaphoreOk = 1;
            semaphore.release();
            semaphoreRacy = 1;
        }, () -> {
            semaphore.acquire();
            int seen = semaphoreOk + semaphoreRacy;
        });
        Exchanger<String> exchanger = new Exchanger<>();
        both(() -> {
            exchangerOk = 1;
            exchanger.exchange("a");
            exchangerRacy = 1;
        }, () -> {
            exchanger.exchange("b");
            int seen = exchangerOk + exchangerRacy;
        });
        Phaser phaser = new Phaser(1);
        both(() -> {
            phaserOk = 1;
            phaser.arrive();
            phaserRacy = 1;
        }, () -> {
            phaser.awaitAdvance(0);
            int seen = phaserOk + phaserRacy;
        });
    }

    void threads() throws Exception {
        Thread parked = start(() -> {
            LockSupport.park();
            int seen = parkOk + parkRacy;
        });
        parkOk = 1;
        LockSupport.unpark(parked);
        parkRacy = 1;
        parked.join();
        Thread asked = start(() -> aliveOk = 1);
        while (asked.isAlive()) {
            Thread.onSpinWait();
        }
        int seen = aliveOk;
        Thread interrupted = start(() -> {
            while (!Thread.interrupted()) {
                Thread.onSpinWait();
            }
            int late = interruptOk + interruptRacy;
        });
        interruptOk = 1;
        interrupted.interrupt();
        interruptRacy = 1;
        interrupted.join();
    }

    public static void main(String[] arguments) throws Exception {
        Synchronizers it = new Synchronizers();
        it.locks();
        it.tryLocks();
        it.readers();
        it.stamped();
        it.conditions();
        it.meetings();
        it.threads();
        System.out.println("done " + it.lockOk + it.ownOk + it.tryOk + it.timedOk + it.readOk + it.stampedOk);
    }
}
