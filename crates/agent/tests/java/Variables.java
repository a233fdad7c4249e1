import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * A racy and a clean use of atomics, handles and updaters; the names of the fields say which. One thread
 * publishes a field through a variable, the other sees that and reads the field.
 */
public class Variables extends Turns {
    int integerOk;
    int integerRacy;
    int lazyOk;
    int plainRacy;
    int opaqueRacy;
    int booleanOk;
    int referenceOk;
    int failedRacy;
    int succeededOk;
    int addedOk;
    int elementOk;
    int elementRacy;
    int updaterOk;
    int updaterRacy;
    int mixedOk;
    int nameOk;
    int handleOk;
    int releaseOk;
    int handlePlainRacy;
    int handleOpaqueRacy;
    int staticOk;
    int arrayOk;
    int directRacy;
    int reflectedRacy;
    int casOk;
    final int[] cells = new int[2];
    final int[] copied = new int[8];
    final int[] raced = new int[8];
    final int[] reflected = new int[2];

    volatile int flag;
    volatile String name;
    int target;
    int opaque;
    static int common;

    static final AtomicIntegerFieldUpdater<Variables> FLAG =
        AtomicIntegerFieldUpdater.newUpdater(Variables.class, "flag");
    static final AtomicReferenceFieldUpdater<Variables, String> NAME =
        AtomicReferenceFieldUpdater.newUpdater(Variables.class, String.class, "name");
    static final VarHandle TARGET;
    static final VarHandle OPAQUE;
    static final VarHandle DIRECT;
    static final VarHandle FLAG_HANDLE;
    static final VarHandle COMMON;
    static final VarHandle CELLS = MethodHandles.arrayElementVarHandle(int[].class);
    static final Field REFLECTED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            TARGET = lookup.findVarHandle(Variables.class, "target", int.class);
            OPAQUE = lookup.findVarHandle(Variables.class, "opaque", int.class);
            DIRECT = lookup.findVarHandle(Variables.class, "directRacy", int.class);
            FLAG_HANDLE = lookup.findVarHandle(Variables.class, "flag", int.class);
            COMMON = lookup.findStaticVarHandle(Variables.class, "common", int.class);
            REFLECTED = Variables.class.getDeclaredField("reflectedRacy");
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static class Node {
        int madeOk;

        Node(int made) {
            madeOk = made;
        }
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    static void until(Condition condition) throws Exception {
        while (!condition.holds()) {
            Thread.sleep(1);
        }
    }

    void atomics() throws Exception {
        AtomicInteger number = new AtomicInteger();
        both(() -> {
            integerOk = 1;
            number.set(1);
            integerRacy = 1;
        }, () -> {
            until(() -> number.get() == 1);
            int seen = integerOk + integerRacy;
        });
        both(() -> {
            lazyOk = 1;
            number.lazySet(2);
        }, () -> {
            until(() -> number.getAcquire() == 2);
            int seen = lazyOk;
        });
        both(() -> {
            plainRacy = 1;
            number.setPlain(3);
        }, () -> {
            until(() -> number.get() == 3);
            int seen = plainRacy;
        });
        both(() -> {
            opaqueRacy = 1;
            number.setRelease(4);
        }, () -> {
            until(() -> number.getOpaque() == 4);
            int seen = opaqueRacy;
        });
        AtomicBoolean turn = new AtomicBoolean();
        both(() -> {
            booleanOk++;
            turn.getAndSet(true);
        }, () -> {
            until(() -> turn.compareAndSet(true, false));
            booleanOk++;
        });
        AtomicReference<String> box = new AtomicReference<>();
        both(() -> {
            referenceOk = 1;
            box.updateAndGet(old -> "new");
        }, () -> {
            until(() -> box.get() != null);
            int seen = referenceOk;
        });
        AtomicReference<Node> nodes = new AtomicReference<>();
        both(() -> nodes.updateAndGet(old -> new Node(1)), () -> {
            until(() -> nodes.get() != null);
            nodes.get().madeOk++;
        });
        // A failed compare-and-set writes nothing that anybody could see.
        AtomicInteger zero = new AtomicInteger();
        both(() -> {
            failedRacy = 1;
            zero.compareAndSet(5, 6);
            System.setProperty("failed", "yes");
        }, () -> {
            until(() -> System.getProperty("failed") != null);
            zero.get();
            int seen = failedRacy;
        });
        both(() -> {
            succeededOk = 1;
            zero.compareAndSet(0, 6);
        }, () -> {
            until(() -> zero.get() == 6);
            int seen = succeededOk;
        });
        AtomicInteger adds = new AtomicInteger();
        both(() -> {
            addedOk = 1;
            adds.incrementAndGet();
        }, () -> {
            until(() -> adds.addAndGet(2) % 2 == 1);
            addedOk = 2;
        });
        AtomicIntegerArray array = new AtomicIntegerArray(2);
        both(() -> {
            elementOk = 1;
            array.set(0, 1);
            elementRacy = 1;
            array.set(1, 1);
        }, () -> {
            until(() -> array.get(0) == 1);
            int seen = elementOk + elementRacy;
        });
    }

    void updaters() throws Exception {
        both(() -> {
            updaterOk = 1;
            FLAG.set(this, 1);
            updaterRacy = 1;
        }, () -> {
            until(() -> FLAG.get(this) == 1);
            int seen = updaterOk + updaterRacy;
        });
        both(() -> {
            mixedOk = 1;
            flag = 2;
        }, () -> {
            until(() -> (int) FLAG_HANDLE.getVolatile(this) == 2);
            mixedOk = 2;
            FLAG.compareAndSet(this, 2, 3);
        });
        both(() -> {
            until(() -> flag == 3);
            mixedOk = 3;
        }, () -> {
            until(() -> flag == 3);
        });
        both(() -> {
            nameOk = 1;
            NAME.lazySet(this, "it");
        }, () -> {
            until(() -> name != null);
            int seen = nameOk;
        });
    }

    void handles() throws Exception {
        both(() -> {
            handleOk = 1;
            TARGET.setVolatile(this, 1);
        }, () -> {
            until(() -> (int) TARGET.getVolatile(this) == 1);
            int seen = handleOk;
        });
        both(() -> {
            releaseOk = 1;
            TARGET.setRelease(this, 2);
        }, () -> {
            until(() -> (int) TARGET.getAcquire(this) == 2);
            int seen = releaseOk;
        });
        both(() -> {
            casOk = 1;
            TARGET.compareAndSet(this, 2, 3);
        }, () -> {
            until(() -> (int) TARGET.getAndAdd(this, 0) == 3);
            int seen = casOk;
        });
        both(() -> {
            handleOpaqueRacy = 1;
            OPAQUE.setOpaque(this, 1);
        }, () -> {
            until(() -> (int) OPAQUE.getOpaque(this) == 1);
            int seen = handleOpaqueRacy;
        });
        both(() -> {
            handlePlainRacy = 1;
            OPAQUE.setRelease(this, 2);
        }, () -> {
            until(() -> (int) OPAQUE.getOpaque(this) == 2);
            int seen = handlePlainRacy;
        });
        both(() -> {
            staticOk = 1;
            COMMON.setVolatile(1);
        }, () -> {
            until(() -> (int) COMMON.getVolatile() == 1);
            int seen = staticOk;
        });
        both(() -> {
            arrayOk = 1;
            CELLS.setRelease(cells, 1, 1);
        }, () -> {
            until(() -> (int) CELLS.getAcquire(cells, 1) == 1);
            int seen = arrayOk;
        });
        both(() -> directRacy = 1, () -> {
            int seen = (int) DIRECT.get(this);
        });
        both(() -> REFLECTED.setInt(this, 1), () -> {
            int seen = reflectedRacy;
        });
    }

    /** Elements are told apart: only those that are copied are accessed. */
    void arrays() throws Exception {
        both(() -> System.arraycopy(new int[] {1, 2}, 0, copied, 2, 2), () -> copied[1] = 1);
        both(() -> System.arraycopy(copied, 1, new int[9], 0, 3), () -> copied[4] = 1);
        both(() -> System.arraycopy(raced, 1, new int[9], 0, 3), () -> raced[3] = 1);
        both(() -> Array.setInt(reflected, 1, 5), () -> reflected[1]++);
        try {
            System.arraycopy(copied, 7, raced, 0, 5);
            throw new AssertionError();
        } catch (ArrayIndexOutOfBoundsException expected) {
            copied[0] = 1;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Variables it = new Variables();
        it.atomics();
        it.updaters();
        it.handles();
        it.arrays();
        System.out.println("done " + it.booleanOk + it.addedOk + it.mixedOk);
    }
}
