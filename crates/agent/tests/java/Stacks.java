import java.util.List;
import java.util.concurrent.Callable;

/**
 * Two threads do the same, and every access that races is noted with the stack that the JVM itself tells.
 * What is printed is "thread field frame frame ...".
 */
public class Stacks {
    static int deepRacy, thrownRacy, recursiveRacy, constructedRacy, failedRacy, calledBackRacy;
    static int recursiveCallbackRacy, lockedRacy, initializedRacy, textRacy, repeatedRacy, inheritedRacy;
    static int finallyRacy, referenceRacy, nestedRacy, rethrownRacy, overflowRacy;
    static int[] elements = new int[10];

    private final StringBuilder notes = new StringBuilder();
    private final String name;
    private final int place;

    Stacks(String name, int place) {
        this.name = name;
        this.place = place;
    }

    public static void main(String[] arguments) throws Exception {
        Stacks main = new Stacks("main", 0);
        Stacks worker = new Stacks("worker", 1);
        Thread thread = new Thread(() -> worker.all(), "worker");
        thread.start();
        main.all();
        thread.join();
        System.out.print(main.notes.toString() + worker.notes);
    }

    void note(String field) {
        notes.append(name).append(' ').append(field);
        StackTraceElement[] stack = new Throwable().getStackTrace();
        for (int depth = 1; depth < stack.length; depth++) {
            StackTraceElement frame = stack[depth];
            if (frame.getModuleName() == null || !frame.getModuleName().startsWith("java.")) {
                notes.append(' ').append(frame.getClassName()).append('.').append(frame.getMethodName());
                notes.append('(').append(frame.getFileName()).append(':').append(frame.getLineNumber()).append(')');
            }
        }
        notes.append('\n');
    }

    void all() {
        first();
        thrown();
        recursive(5);
        new Constructed(this);
        failed();
        calledBack();
        recursiveCallback(2);
        synchronized (new Object()) {
            locked();
        }
        if (place == 1) {
            int zero = Initialized.zero;
            new Made();
        } else {
            initializedRacy = 1; note("initializedRacy");
            nestedRacy = 1; note("nestedRacy");
        }
        String text = "a " + new Text() + " b";
        repeated();
        repeated();
        new Lower();
        left();
        reference(this::referenced);
        rethrown();
        overflow();
        element(1 + 8 * place);
        element(3 + 4 * place);
        element(5);
    }

    void first() {
        second();
    }

    void second() {
        int unused = 1;
        third(unused);
    }

    void third(int unused) {
        deepRacy = 1; note("deepRacy");
    }

    void thrown() {
        try {
            throwing(3);
        } catch (IllegalStateException expected) {
            afterwards();
        }
    }

    void throwing(int depth) {
        if (depth == 0) {
            throw new IllegalStateException();
        }
        throwing(depth - 1);
    }

    void afterwards() {
        thrownRacy = 1; note("thrownRacy");
    }

    void rethrown() {
        try {
            try {
                throwing(1);
            } finally {
                inFinally();
            }
        } catch (IllegalStateException expected) {
            rethrownRacy = 1; note("rethrownRacy");
        }
    }

    void inFinally() {
        finallyRacy = 1; note("finallyRacy");
    }

    void recursive(int depth) {
        if (depth > 0) {
            recursive(depth - 1);
            return;
        }
        recursiveRacy = 1; note("recursiveRacy");
    }

    static class Constructed {
        Constructed(Stacks stacks) {
            constructedRacy = 1; stacks.note("constructedRacy");
        }
    }

    static class Failing {
        final Object made;

        Failing(int depth) {
            made = depth == 0 ? fail() : new Failing(depth - 1);
        }

        static Object fail() {
            throw new IllegalArgumentException();
        }
    }

    void failed() {
        try {
            new Failing(2);
        } catch (IllegalArgumentException expected) {
            // Nothing tells that the constructors were left.
        }
        failedRacy = 1; note("failedRacy");
        try {
            new Failing(1);
        } catch (IllegalArgumentException expected) {
            left(0);
        }
    }

    int left(int value) {
        return value;
    }

    void left() {
        left(1);
    }

    void calledBack() {
        List.of(1, 2).forEach(number -> {
            left(number);
            if (number == 2) {
                calledBackRacy = 1; note("calledBackRacy");
            }
        });
    }

    void recursiveCallback(int depth) {
        if (depth == 0) {
            return;
        }
        List.of(depth - 1, 0, -1).forEach(this::each);
    }

    void each(int depth) {
        if (depth == -1) {
            recursiveCallbackRacy = 1; if (!noted) note("recursiveCallbackRacy");
            noted = true;
        } else {
            recursiveCallback(depth);
        }
    }

    boolean noted;

    synchronized void locked() {
        lockedRacy = 1; note("lockedRacy");
    }

    static class Initialized {
        static int zero;

        static {
            Stacks worker = new Stacks("worker", 1);
            initializedRacy = 1; worker.note("initializedRacy");
            zero = 0;
            System.out.print(worker.notes);
        }
    }

    static class Made {
        static {
            Stacks worker = new Stacks("worker", 1);
            nestedRacy = 1; worker.note("nestedRacy");
            System.out.print(worker.notes);
        }
    }

    class Text {
        @Override
        public String toString() {
            textRacy = 1; note("textRacy");
            return "text";
        }
    }

    boolean repeated;

    void repeated() {
        repeatedRacy = 1; if (!repeated) note("repeatedRacy");
        repeated = true;
    }

    class Upper {
        Upper() {
            inheritedRacy = 1; note("inheritedRacy");
        }
    }

    class Lower extends Upper {
        final int own;

        Lower() {
            super();
            own = left(1);
        }
    }

    void reference(Callable<Integer> callable) {
        try {
            callable.call();
        } catch (Exception unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    int referenced() {
        referenceRacy = 1; note("referenceRacy");
        return 1;
    }

    int depth;

    void overflow() {
        try {
            deeper();
        } catch (StackOverflowError expected) {
            depth = 0;
        }
        overflowRacy = 1; note("overflowRacy");
    }

    void deeper() {
        depth++;
        deeper();
        depth--;
    }

    void element(int index) {
        elements[index] = 1; if (index == 5) note("int[]");
    }
}
