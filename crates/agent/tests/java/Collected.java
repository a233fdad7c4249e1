import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * Objects that the garbage collector hands to another thread: what was done until they were made comes before that, and what was done
 * later does not. The names of the fields say what races.
 */
public class Collected extends Turns {
    static class Cell {
        int weakOk;
        int weakRacy;
        int phantomOk;
        int phantomRacy;
        int plainOk;
        int enqueuedOk;
        int finalizerOk;
        int finalizerRacy;
        int inheritedOk;
    }

    static class Weak extends WeakReference<Object> {
        final Cell cell;
        int ownOk;

        Weak(Object referent, ReferenceQueue<Object> queue, Cell cell) {
            super(referent, queue);
            this.cell = cell;
            if (cell == null) {
                return;
            }
            ownOk = 1;
        }
    }

    static class Phantom extends PhantomReference<Object> {
        final Cell cell;

        Phantom(Object referent, ReferenceQueue<Object> queue, Cell cell) {
            super(referent, queue);
            this.cell = cell;
        }
    }

    static class Finalized {
        final Cell cell;

        Finalized(Cell cell) {
            this.cell = cell;
        }

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            read = cell.finalizerOk + cell.finalizerRacy + cell.inheritedOk;
            finalized++;
        }
    }

    static class Inherits extends Finalized {
        Inherits(Cell cell) {
            super(cell);
        }
    }

    static volatile int read;
    static volatile Reference<?> kept;
    static volatile int finalized;

    /** The next reference in a queue. Nothing orders it that was done behind its making. */
    static Reference<?> next(ReferenceQueue<Object> queue) throws InterruptedException {
        while (true) {
            System.gc();
            Reference<?> reference = queue.remove(20);
            if (reference != null) {
                return reference;
            }
        }
    }

    static Reference<?> polled(ReferenceQueue<Object> queue) throws InterruptedException {
        Reference<?> reference = null;
        while (reference == null) {
            System.gc();
            Thread.sleep(5);
            reference = queue.poll();
        }
        return reference;
    }

    static void references() throws Exception {
        ReferenceQueue<Object> weak = new ReferenceQueue<>();
        inTurn(() -> {
            Cell cell = new Cell();
            cell.weakOk = 1;
            kept = new Weak(new Object(), weak, cell);
            cell.weakRacy = 1;
        }, () -> {
            Weak reference = (Weak) next(weak);
            read = reference.cell.weakOk + reference.cell.weakRacy + reference.ownOk;
        });
        ReferenceQueue<Object> phantom = new ReferenceQueue<>();
        inTurn(() -> {
            Cell cell = new Cell();
            cell.phantomOk = 1;
            kept = new Phantom(new Object(), phantom, cell);
            cell.phantomRacy = 1;
        }, () -> {
            Phantom reference = (Phantom) polled(phantom);
            read = reference.cell.phantomOk + reference.cell.phantomRacy;
        });
        ReferenceQueue<Object> plain = new ReferenceQueue<>();
        Cell cell = new Cell();
        inTurn(() -> {
            cell.plainOk = 1;
            kept = new WeakReference<>(new Object(), plain);
        }, () -> {
            next(plain);
            read = cell.plainOk;
        });
        ReferenceQueue<Object> enqueued = new ReferenceQueue<>();
        Object living = new Object();
        inTurn(() -> {
            Weak reference = new Weak(living, enqueued, cell);
            cell.enqueuedOk = 1;
            reference.enqueue();
        }, () -> {
            enqueued.remove();
            read = cell.enqueuedOk;
        });
        Reference.reachabilityFence(living);
    }

    /** One behind the other: all finalizers run in one thread. */
    static void finalizers() throws Exception {
        Cell cell = new Cell();
        inTurn(() -> {
            cell.finalizerOk = 1;
            cell.inheritedOk = 1;
            new Finalized(cell);
            cell.finalizerRacy = 1;
        });
        awaitFinalizers(1);
        Cell other = new Cell();
        inTurn(() -> {
            other.inheritedOk = 1;
            new Inherits(other);
        });
        awaitFinalizers(2);
    }

    static void awaitFinalizers(int count) throws InterruptedException {
        while (finalized < count) {
            System.gc();
            Thread.sleep(5);
        }
    }

    public static void main(String[] arguments) throws Exception {
        references();
        finalizers();
    }
}
