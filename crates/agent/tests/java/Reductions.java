import java.util.Comparator;
import java.util.List;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What workers of parallel streams make others combine; the names of the fields say what races. */
public class Reductions {
    static final int ELEMENTS = 20_000;

    static class Sum {
        long collectedOk;
        long collectorOk;
        long finishedOk;
        long reducedOk;
        long mergedOk;
        long groupedOk;
        long orderedOk;
        long greatestOk;
        long sortedOk;
        long thenOk;

        void add(int value) {
            collectedOk += value;
        }

        void add(Sum other) {
            collectedOk += other.collectedOk;
        }
    }

    static long accumulatedRacy;
    static long mappedRacy;
    static long reducedRacy;

    static IntStream numbers() {
        return IntStream.range(0, ELEMENTS).parallel();
    }

    static void check(long sum) {
        if (sum != (ELEMENTS - 1L) * ELEMENTS / 2) {
            throw new IllegalStateException("" + sum);
        }
    }

    static Sum reduced(long value) {
        Sum sum = new Sum();
        sum.reducedOk = value;
        return sum;
    }

    static Sum with(long value) {
        Sum sum = new Sum();
        sum.greatestOk = value;
        sum.sortedOk = value;
        sum.orderedOk = value;
        sum.mergedOk = value;
        return sum;
    }

    public static void main(String[] arguments) {
        check(numbers().boxed().collect(Sum::new, Sum::add, Sum::add).collectedOk);
        check(numbers().collect(Sum::new, Sum::add, Sum::add).collectedOk);
        Sum collected = numbers().boxed().collect(Collector.of(Sum::new, (sum, value) -> sum.collectorOk += value,
                (one, other) -> {
                    one.collectorOk += other.collectorOk;
                    return one;
                }));
        check(collected.collectorOk);
        check(numbers().boxed().collect(Collector.of(Sum::new, (sum, value) -> sum.finishedOk += value,
                (one, other) -> {
                    one.finishedOk += other.finishedOk;
                    return one;
                }, sum -> sum.finishedOk)));
        check(numbers().mapToObj(Reductions::reduced)
                .reduce(new Sum(), (one, other) -> reduced(one.reducedOk + other.reducedOk)).reducedOk);
        check(numbers().mapToObj(Reductions::reduced)
                .reduce((one, other) -> reduced(one.reducedOk + other.reducedOk)).get().reducedOk);
        check(numbers().mapToObj(Reductions::with).collect(Collectors.toMap(sum -> "all", sum -> sum, (one, other) -> {
            one.mergedOk += other.mergedOk;
            return one;
        })).get("all").mergedOk);
        Collector<Integer, Sum, Sum> grouped = Collector.of(Sum::new, (sum, value) -> sum.groupedOk += value, (one, other) -> {
            one.groupedOk += other.groupedOk;
            return one;
        });
        check(numbers().boxed().collect(Collectors.groupingBy(value -> value % 3, grouped)).values().stream()
                .mapToLong(sum -> sum.groupedOk).sum());
        check(numbers().boxed().collect(Collectors.collectingAndThen(Collector.of(Sum::new,
                (Sum sum, Integer value) -> sum.thenOk += value,
                (one, other) -> {
                    one.thenOk += other.thenOk;
                    return one;
                }), sum -> sum.thenOk)));
        Comparator<Sum> greatest = (one, other) -> Long.compare(one.greatestOk, other.greatestOk);
        numbers().mapToObj(Reductions::with).max(greatest).get().greatestOk++;
        List<Sum> sorted = numbers().mapToObj(Reductions::with)
                .sorted((one, other) -> Long.compare(other.sortedOk, one.sortedOk)).collect(Collectors.toList());
        sorted.get(0).sortedOk++;
        numbers().mapToObj(Reductions::with).forEachOrdered(sum -> sum.orderedOk++);

        numbers().boxed().collect(Sum::new, (sum, value) -> accumulatedRacy += value, (one, other) -> {});
        numbers().map(value -> (int) (mappedRacy += value)).sum();
        numbers().mapToObj(value -> value).map(value -> reducedRacy += value).reduce(0L, Long::sum);
        System.out.println("done");
    }
}
