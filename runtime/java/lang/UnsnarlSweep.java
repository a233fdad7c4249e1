package java.lang;

import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * Tells now and then which objects with ids live, so that whoever analyses the events can forget the others. The heap is
 * looked through, which costs as much as there are objects, when as many ids again were given as objects lived the last
 * time: so it costs little for each. And it is done after a garbage collection, since what that has left over lives for
 * whoever looks through the heap; and not all the time.
 *
 * <p>A sweep is two events. What had an id before the first and is not on the list that is there with the second is dead.
 */
final class UnsnarlSweep {
    private static final long FEWEST = UnsnarlNative.sweepEvery();
    private static final AtomicLong GIVEN = new AtomicLong();
    private static final AtomicBoolean RUNNING = new AtomicBoolean();

    private static final long PAUSE = UnsnarlNative.sweepPause();

    private static volatile long next = FEWEST;
    /** What says that there was a garbage collection since the last sweep: not every collector tells, nor clears all. */
    private static volatile long collections;
    private static volatile WeakReference<Object> witness = new WeakReference<>(new Object());
    private static volatile long earliest = System.nanoTime();
    private static long number;

    private UnsnarlSweep() {}

    /** Makes sure that nothing has to be loaded later. */
    @Hidden
    static void prepare() {
        UnsnarlIdentity.living(0, 0);
        isTime();
    }

    /** Called when an object got an id that is not in a field. Of those a stripe counts 64 before it tells. */
    @Hidden
    static void given(UnsnarlThread thread, long id) {
        if ((UnsnarlIdentity.count(id) & 63) == 0) {
            consider(thread, 64);
        }
    }

    /** Called when so many ids were given to a thread. */
    @Hidden
    static void consider(UnsnarlThread thread, long ids) {
        if (GIVEN.addAndGet(ids) >= next && isTime() && RUNNING.compareAndSet(false, true)) {
            try {
                long begin = System.nanoTime();
                sweep(thread);
                long end = System.nanoTime();
                earliest = end + PAUSE * (end - begin);
            } finally {
                RUNNING.set(false);
            }
        }
    }

    @Hidden
    private static boolean isTime() {
        return (UnsnarlNative.collections() != collections || witness.refersTo(null))
                && System.nanoTime() - earliest >= 0;
    }

    @Hidden
    private static void sweep(UnsnarlThread thread) {
        collections = UnsnarlNative.collections();
        witness = new WeakReference<>(new Object());
        UnsnarlHooks.numbered(thread, UnsnarlHooks.SWEEP_BEGINS, 0, ++number);
        // Others may go on to give ids meanwhile; what they are is not asked yet.
        long room = 2 * UnsnarlIdentity.living(0, 0) + 1024;
        long address = Unsafe.getUnsafe().allocateMemory(8 * room);
        long living = UnsnarlIdentity.living(address, room);
        long all = living > room ? -1 : UnsnarlNative.sweep(number, address, living);
        Unsafe.getUnsafe().freeMemory(address);
        if (all >= 0) {
            UnsnarlHooks.numbered(thread, UnsnarlHooks.SWEEP_ENDS, 0, number);
        }
        next = GIVEN.get() + Math.max(FEWEST, 2 * all);
    }
}
