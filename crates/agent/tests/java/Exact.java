/** Threads that race; every write is of a value of its own, and what was read is printed. */
public class Exact {
    static final int ROUNDS = 3000;
    static int common;
    int field;
    volatile int published;
    final int[] elements = new int[16];

    static class Worker extends Thread {
        final Exact shared;
        final int number;
        final StringBuilder read = new StringBuilder();

        Worker(Exact shared, int number) {
            super("worker-" + number);
            this.shared = shared;
            this.number = number;
        }

        @Override
        public void run() {
            for (int round = 1; round <= ROUNDS; round++) {
                int value = number * ROUNDS + round;
                Exact shared = this.shared;
                shared.field = value;
                if (round % 50 == 0) {
                    // The others come in between also where they have no processor of their own.
                    Thread.yield();
                }
                int field = shared.field;
                common = value;
                int common = Exact.common;
                shared.published = value;
                int published = shared.published;
                shared.elements[3] = value;
                int element = shared.elements[3];
                read.append(getName()).append(' ').append(field).append(' ').append(common).append(' ')
                        .append(published).append(' ').append(element).append('\n');
            }
        }
    }

    /** What does not come to its end holds nobody up for ever. */
    static void failures(Exact shared) {
        Object[] texts = new String[1];
        try {
            texts[0] = 1;
        } catch (ArrayStoreException expected) {
            System.out.println("refused");
        }
        try {
            shared.elements[16] = 1;
        } catch (ArrayIndexOutOfBoundsException expected) {
            System.out.println(expected.getMessage());
        }
        try {
            Exact nothing = null;
            nothing.field = 1;
        } catch (NullPointerException expected) {
            System.out.println(expected.getMessage());
        }
        texts[0] = "text";
        System.out.println(texts[0]);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Exact shared = new Exact();
        failures(shared);
        Worker[] workers = new Worker[3];
        for (int number = 0; number < workers.length; number++) {
            workers[number] = new Worker(shared, number);
        }
        for (Worker worker : workers) {
            worker.start();
        }
        for (Worker worker : workers) {
            worker.join();
            System.out.print(worker.read);
        }
    }
}
