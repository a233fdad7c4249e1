package java.lang;

import java.lang.reflect.Array;
import java.util.Collection;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the probes around calls of library methods call, and those in methods that may be tasks. They
 * only write down what happens; what it means is in the models, which the reader of the trace knows.
 *
 * <p>What a call is about is written before its beginning. A call is known by its number in its thread,
 * which stands in the place of the site when it ends. That a call fails is recorded only where it matters.
 */
public final class UnsnarlCalls {
    /** Where an operand stands: an argument, an element of one, the calling thread, what a task returns, the length of one. */
    private static final int ELEMENT = 0x100;
    private static final int THREAD = 0x200;
    private static final int RETURNED = 0x400;
    private static final int LENGTH = 0x800;
    /** In {@code considered}: the call is recorded and makes others run methods of what it is about. */
    private static final int RUNS = 2;
    /** The answers of {@link UnsnarlModelled} in {@code considered}, which has twice as much where a call runs something. */
    private static final int LOOKS = 3 * UnsnarlModelled.LOOKS;
    private static final int COUNTED = 3 * UnsnarlModelled.COUNTED;
    private static final int QUIET = 3 * UnsnarlModelled.QUIET;
    /** In the place of a call's number: a look of which nothing is recorded yet. */
    private static final int LOOKING = Integer.MIN_VALUE;

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    private UnsnarlCalls() {}

    /** Makes sure that nothing has to be loaded later. */
    @Hidden
    static void prepare() {
        UnsnarlModelled.on(UnsnarlModelled.CLASSES, 0, 0);
    }

    /** Whether calls of a method at a place are recorded on this receiver, and how. */
    @ForceInline
    @Hidden
    public static int considers(Object receiver, int method, int site) {
        return receiver == null ? 0 : UnsnarlModelled.on(receiver, method, site);
    }

    @ForceInline
    @Hidden
    public static void reference(Object argument, int position, int considered) {
        if (considered != 0 && argument != null) {
            operand(UnsnarlHooks.current(), argument, position, considered);
        }
    }

    @ForceInline
    @Hidden
    public static void number(int argument, int position, int considered) {
        if (considered != 0) {
            operand(UnsnarlHooks.current(), position, argument);
        }
    }

    @ForceInline
    @Hidden
    public static void number(long argument, int position, int considered) {
        if (considered != 0) {
            operand(UnsnarlHooks.current(), position, argument);
        }
    }

    /** An argument that is a string whose text matters. */
    @Hidden
    public static void text(Object argument, int position, int considered) {
        if (considered != 0 && argument instanceof String text) {
            UnsnarlThread thread = UnsnarlHooks.current();
            UnsnarlNative.describe(UnsnarlNative.TEXT, UnsnarlIds.identify(thread, text), text);
            operand(thread, text, position, considered);
        }
    }

    /** An argument that is an array of which many elements matter. */
    @Hidden
    public static void array(Object argument, int position, int considered) {
        if (considered != 0 && argument != null) {
            UnsnarlThread thread = UnsnarlHooks.current();
            operand(thread, argument, position, considered);
            if (argument.getClass().isArray()) {
                operand(thread, position | LENGTH, Array.getLength(argument));
            }
        }
    }

    /** An argument whose elements matter. Only collections of the JDK are asked for them. */
    @Hidden
    public static void elements(Object argument, int position, int considered) {
        if (considered == 0 || argument == null) {
            return;
        }
        // What a collection of the JDK does may be recorded as well: before anything of this call is.
        Object[] elements = null;
        if (argument instanceof Object[] array) {
            elements = array;
        } else if (argument instanceof Collection<?> collection && isOwn(argument.getClass())) {
            elements = collection.toArray();
        }
        UnsnarlThread thread = UnsnarlHooks.current();
        array(argument, position, considered);
        if (elements != null) {
            for (Object element : elements) {
                if (element != null) {
                    operand(thread, element, position | ELEMENT, considered);
                }
            }
        }
    }

    /** Whether a collection runs no code of the program when it is copied, as wrappers would do. */
    @Hidden
    private static boolean isOwn(Class<?> type) {
        String name = type.getName();
        boolean wraps = name.startsWith("java.util.Collections$") && !name.contains("Singleton");
        return type.getClassLoader0() == null && name.startsWith("java.util.") && !wraps;
    }

    /** The thread that calls is what the call is about. */
    @Hidden
    public static void thread(int considered) {
        if (considered != 0) {
            operand(UnsnarlHooks.current(), Thread.currentThread(), THREAD, considered);
        }
    }

    @ForceInline
    @Hidden
    public static int begins(Object receiver, int site, int considered) {
        return considered == 0 ? 0 : begin(receiver, site, considered);
    }

    /** A call that lets no other thread see what this one has done. Its number is negative for the hooks after it. */
    @ForceInline
    @Hidden
    public static int beginsQuietly(Object receiver, int site, int considered) {
        return considered == 0 ? 0 : begin(receiver, site, considered | QUIET);
    }

    /** A call that only takes over what others have sent: its end has a number, which is negative as well, and no more. */
    @ForceInline
    @Hidden
    public static int looks(Object receiver, int site, int considered) {
        return considered == 0 ? 0 : begin(receiver, site, considered | LOOKS);
    }

    @Hidden
    private static int nextCall(UnsnarlThread thread) {
        thread.calls = Math.max(thread.calls + 1, 1);
        return thread.calls;
    }

    @DontInline
    @Hidden
    private static int begin(Object receiver, int site, int considered) {
        UnsnarlThread thread = UnsnarlHooks.current();
        if ((considered & COUNTED) != 0) {
            thread.looks().begin(receiver, site);
            return LOOKING;
        }
        long id = receiver == null ? 0 : identify(thread, receiver, considered);
        if ((considered & LOOKS) != 0) {
            look(thread, site, id);
            return -nextCall(thread);
        }
        UnsnarlHooks.numbered(thread, UnsnarlHooks.CALL_BEGINS, site, id);
        if ((considered & QUIET) != 0) {
            return -nextCall(thread);
        }
        UnsnarlLooks.sends(id);
        thread.nextEpoch();
        return nextCall(thread);
    }

    @Hidden
    private static void look(UnsnarlThread thread, int site, long id) {
        long place = thread.reserve(16);
        if (place != 0) {
            UNSAFE.putLong(place + 8, id);
            thread.finish(place, 16, UnsnarlHooks.CALL_LOOKS, site);
        }
    }

    @ForceInline
    @Hidden
    public static void ends(int call) {
        end(call, 0);
    }

    @ForceInline
    @Hidden
    public static void ends(int result, int call) {
        end(call, result);
    }

    @ForceInline
    @Hidden
    public static void ends(long result, int call) {
        end(call, result);
    }

    @ForceInline
    @Hidden
    public static void ends(Object result, int call) {
        if (call == LOOKING) {
            looked(result, 0);
        } else if (call != 0) {
            end(call, result == null ? 0 : UnsnarlIds.identify(UnsnarlHooks.current(), result));
        }
    }

    @Hidden
    public static void fails(Throwable failure, int call) {
        if (call != 0 && call != LOOKING) {
            UnsnarlThread thread = UnsnarlHooks.current();
            long type = UnsnarlIds.identify(thread, failure.getClass());
            behind(thread, UnsnarlHooks.CALL_FAILS, call, type);
        }
    }

    /** Waiting has failed. That the thread was interrupted is what {@code Thread.interrupted} would have told it. */
    @Hidden
    public static void interrupted(Throwable failure, int site) {
        if (failure instanceof InterruptedException) {
            thread(1);
            ends(1, beginsQuietly(null, site, 1));
        }
    }

    @Hidden
    private static void end(int call, long outcome) {
        if (call == LOOKING) {
            looked(null, outcome);
        } else if (call != 0) {
            behind(UnsnarlHooks.current(), UnsnarlHooks.CALL_ENDS, call, outcome);
        }
    }

    @DontInline
    @Hidden
    private static void behind(UnsnarlThread thread, int kind, int call, long outcome) {
        UnsnarlHooks.numbered(thread, kind, Math.abs(call), outcome);
        if (call > 0) {
            thread.nextEpoch();
        }
    }

    /** Records a look as a whole, unless it has found nothing new. */
    @DontInline
    @Hidden
    private static void looked(Object result, long outcome) {
        UnsnarlThread thread = UnsnarlHooks.current();
        UnsnarlLooks looks = thread.looks();
        Object receiver = looks.end(thread);
        if (receiver != null) {
            look(thread, looks.site, identify(thread, receiver, 1));
            outcome = result == null ? outcome : UnsnarlIds.identify(thread, result);
            behind(thread, UnsnarlHooks.CALL_ENDS, -nextCall(thread), outcome);
        }
    }

    /** A call on an object that somebody else makes when it is there. */
    @Hidden
    public static void calledOn(Object object, int site) {
        ends(begins(object, site, RUNS));
    }

    /** The same with the object as the argument. */
    @Hidden
    public static void calledWith(Object object, int site) {
        reference(object, 0, RUNS);
        ends(begins(null, site, RUNS));
    }

    /** A method that may be a task begins. Nobody has started it who has not named its object in a call that runs. */
    @Hidden
    public static void taskBegins(Object task, int site) {
        long id = UnsnarlIds.named(task);
        if (id != 0) {
            UnsnarlHooks.numbered(UnsnarlHooks.current(), UnsnarlHooks.TASK_BEGINS, site, id);
        }
    }

    @Hidden
    public static void taskEnds(Object task, int site) {
        long id = UnsnarlIds.named(task);
        if (id != 0) {
            UnsnarlThread thread = UnsnarlHooks.current();
            UnsnarlHooks.numbered(thread, UnsnarlHooks.TASK_ENDS, site, id);
            UnsnarlHooks.publish(thread);
        }
    }

    /** A method ends that is called in tasks, and by anybody: what its thread did before it need not be recorded again. */
    @Hidden
    public static void taskEndsQuietly(Object task, int site) {
        long id = UnsnarlIds.named(task);
        if (id != 0) {
            UnsnarlHooks.numbered(UnsnarlHooks.current(), UnsnarlHooks.TASK_ENDS, site, id);
        }
    }

    /** A task ends with a result, which others may wait for. */
    @Hidden
    public static void taskReturns(Object result, Object task, int site) {
        long id = UnsnarlIds.named(task);
        if (id != 0) {
            UnsnarlThread thread = UnsnarlHooks.current();
            if (result != null) {
                operand(thread, result, RETURNED, RUNS);
            }
            UnsnarlHooks.numbered(thread, UnsnarlHooks.TASK_ENDS, site, id);
            UnsnarlHooks.publish(thread);
        }
    }

    @DontInline
    @Hidden
    private static void operand(UnsnarlThread thread, Object operand, int position, int considered) {
        // What is copied from or to such an array is not recorded either.
        if (operand.getClass().isArray() && UnsnarlIds.entry(thread, operand).internal) {
            return;
        }
        operand(thread, position, identify(thread, operand, considered));
    }

    @Hidden
    private static void operand(UnsnarlThread thread, int position, long value) {
        write(thread, UnsnarlHooks.CALL_OPERAND, position, value);
    }

    /**
     * The id of an object that a call is about. Its class, which decides what a call means, is recorded by this thread too: the one that
     * gave the id may not have come to it. Of a thread, the number that it has in its events is recorded as well.
     */
    @Hidden
    private static long identify(UnsnarlThread thread, Object object, int considered) {
        long id = UnsnarlIds.identify(thread, object);
        if ((considered & RUNS) != 0) {
            UnsnarlIds.name(thread, object);
        }
        if (thread.tells(id) && !(object instanceof Class)) {
            UnsnarlIds.tellClass(thread, id, object);
        }
        if (object instanceof Thread named) {
            write(thread, UnsnarlHooks.THREAD_OBJECT, id, UnsnarlHooks.state(named).id);
        }
        return id;
    }

    @Hidden
    private static void write(UnsnarlThread thread, int kind, long first, long second) {
        long place = thread.reserve(24);
        if (place != 0) {
            UNSAFE.putLong(place + 8, first);
            UNSAFE.putLong(place + 16, second);
            thread.finish(place, 24, kind, 0);
        }
    }

    /** The bytes that become a hidden class. */
    @Hidden
    public static byte[] hidden(byte[] bytes) {
        byte[] rewritten = bytes == null ? null : UnsnarlNative.hidden(bytes);
        return rewritten == null ? bytes : rewritten;
    }
}
