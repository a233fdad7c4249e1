import java.util.concurrent.CountedCompleter;
import java.util.concurrent.ForkJoinPool;

/** Tasks that complete those above them, as the documentation of the class has them; the names of the fields say what races. */
public class Completers extends Turns {
    static final ForkJoinPool POOL = new ForkJoinPool(3);

    /** Each waits for two below it. */
    static class Sum extends CountedCompleter<Void> {
        final int from;
        final int to;
        int sumOk;
        Sum left;
        Sum right;

        Sum(CountedCompleter<?> parent, int from, int to) {
            super(parent);
            this.from = from;
            this.to = to;
        }

        @Override
        public void compute() {
            if (to - from < 4) {
                for (int i = from; i < to; i++) {
                    sumOk += i;
                }
            } else {
                int middle = (from + to) >>> 1;
                left = new Sum(this, from, middle);
                right = new Sum(this, middle, to);
                setPendingCount(2);
                left.fork();
                right.fork();
            }
            tryComplete();
        }

        @Override
        public void onCompletion(CountedCompleter<?> caller) {
            if (left != null) {
                sumOk = left.sumOk + right.sumOk;
            }
        }
    }

    /** The last of two takes what its sibling has found. */
    static class Reducer extends CountedCompleter<Integer> {
        final int from;
        final int to;
        Reducer sibling;
        int resultOk;

        Reducer(CountedCompleter<?> parent, int from, int to) {
            super(parent);
            this.from = from;
            this.to = to;
        }

        @Override
        public void compute() {
            if (to - from < 2) {
                resultOk = from;
                tryComplete();
                return;
            }
            int middle = (from + to) >>> 1;
            Reducer first = new Reducer(this, from, middle);
            Reducer second = new Reducer(this, middle, to);
            first.sibling = second;
            second.sibling = first;
            setPendingCount(1);
            second.fork();
            first.compute();
        }

        @Override
        public void onCompletion(CountedCompleter<?> caller) {
            if (caller != this) {
                Reducer child = (Reducer) caller;
                resultOk = child.resultOk + child.sibling.resultOk;
            }
        }

        @Override
        public Integer getRawResult() {
            return resultOk;
        }
    }

    /** Goes up by itself. */
    static class Walker extends CountedCompleter<Void> {
        final int from;
        final int to;
        final Walker next;
        int foundOk;
        Walker forks;

        Walker(CountedCompleter<?> parent, int from, int to, Walker next) {
            super(parent);
            this.from = from;
            this.to = to;
            this.next = next;
        }

        @Override
        public void compute() {
            int end = to;
            while (end - from >= 2) {
                int middle = (from + end) >>> 1;
                addToPendingCount(1);
                forks = new Walker(this, middle, end, forks);
                forks.fork();
                end = middle;
            }
            foundOk = from;
            for (CountedCompleter<?> done = firstComplete(); done != null; done = done.nextComplete()) {
                Walker walker = (Walker) done;
                for (Walker fork = walker.forks; fork != null; fork = fork.next) {
                    walker.foundOk += fork.foundOk;
                }
            }
        }
    }

    /** Two that have nothing to wait for. */
    static class Pair extends CountedCompleter<Void> {
        final String step;
        final Pair first;
        int pairRacy;
        int otherRacy;
        int thirdRacy;

        Pair(Pair first, String step) {
            super(first);
            this.first = first;
            this.step = step;
        }

        @Override
        public void compute() {
            if (first == null) {
                setPendingCount(1);
                new Pair(this, step).fork();
                hear(step + " has begun");
                pairRacy = 1;
                otherRacy = 1;
                thirdRacy = 1;
                say(step);
            } else {
                say(step + " has begun");
                hear(step);
                first.pairRacy++;
                first.otherRacy++;
                first.thirdRacy++;
            }
            tryComplete();
        }
    }

    static void check(int found) {
        if (found != 999 * 1000 / 2) {
            throw new IllegalStateException("" + found);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Sum sum = new Sum(null, 0, 1000);
        sum.invoke();
        check(sum.sumOk);
        check(new Reducer(null, 0, 1000).invoke());
        Reducer reducer = new Reducer(null, 0, 1000);
        check(POOL.submit(reducer).get());
        Walker walker = new Walker(null, 0, 1000, null);
        POOL.submit(walker).join();
        check(walker.foundOk);
        POOL.invoke(new Pair(null, newStep()));
        System.out.println("done");
    }
}
