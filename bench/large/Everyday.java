import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Nanoseconds that things take which all programs do, each by itself in a loop. Argument: how often (100000). */
public final class Everyday {
    private record Item(int key, String name) {}

    private final Map<String, IntConsumer> things = new LinkedHashMap<>();
    private final Object lock = new Object();
    private volatile int shared;
    private int sum;

    public static void main(String[] arguments) throws InterruptedException {
        int times = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 100_000;
        Thread thread = new Thread(() -> new Everyday().run(times));
        thread.start();
        thread.join();
    }

    private void run(int times) {
        collections();
        streams();
        synchronizers();
        others();
        things.forEach((name, thing) -> {
            IntStream.range(0, 20_000).forEach(thing);
            long start = System.nanoTime();
            for (int time = 0; time < times; time++) {
                thing.accept(time);
            }
            System.out.printf("%-28s %6d%n", name, (System.nanoTime() - start) / times);
        });
    }

    private void collections() {
        List<Integer> list = List.of(0, 1, 2, 3, 4, 5, 6, 7);
        List<Item> items = list.stream().map(key -> new Item(7 - key, "item " + key)).toList();
        Map<Integer, Integer> map = new HashMap<>();
        list.forEach(key -> map.put(key, key));
        Set<Integer> set = new HashSet<>(list);
        things.put("for list", i -> list.forEach(it -> sum += it));
        things.put("for set", i -> set.forEach(it -> sum += it));
        things.put("for values", i -> {
            for (int value : map.values()) {
                sum += value;
            }
        });
        things.put("for entries", i -> {
            for (Map.Entry<Integer, Integer> entry : map.entrySet()) {
                sum += entry.getValue();
            }
        });
        things.put("map merge", i -> map.merge(i & 7, 1, Integer::sum));
        things.put("sort", i -> {
            List<Item> sorted = new ArrayList<>(items);
            sorted.sort(Comparator.comparing(Item::key));
        });
        things.put("variable arguments", i -> sum += Arrays.asList(i, 2, 3).size());
    }

    private void streams() {
        List<Integer> list = List.of(0, 1, 2, 3, 4, 5, 6, 7);
        things.put("stream map toList", i -> sum += list.stream().map(it -> it + 1).toList().size());
        things.put("stream collect", i -> sum += list.stream().filter(it -> it > 2).collect(Collectors.toList()).size());
        things.put("stream grouping", i -> sum += list.stream().collect(Collectors.groupingBy(it -> it & 1)).size());
        things.put("stream of ints", i -> sum += IntStream.range(0, 8).map(it -> 2 * it).sum());
        things.put("stream of arguments", i -> sum += Stream.of(1, 2, 3).mapToInt(it -> it).sum());
        things.put("optional", i -> sum += Optional.of(i).map(it -> it + 1).orElse(0));
    }

    private void synchronizers() {
        AtomicInteger atomic = new AtomicInteger();
        ReentrantLock reentrant = new ReentrantLock();
        Map<Integer, Integer> concurrent = new ConcurrentHashMap<>(Map.of(0, 0, 1, 1));
        List<Integer> copied = new CopyOnWriteArrayList<>(List.of(1, 2, 3));
        ConcurrentLinkedQueue<Integer> queue = new ConcurrentLinkedQueue<>();
        things.put("synchronized", i -> {
            synchronized (lock) {
                sum++;
            }
        });
        things.put("lock", i -> {
            reentrant.lock();
            try {
                sum++;
            } finally {
                reentrant.unlock();
            }
        });
        things.put("volatile", i -> sum += shared = i);
        things.put("atomic get", i -> sum += atomic.get());
        things.put("atomic increment", i -> sum += atomic.incrementAndGet());
        things.put("concurrent map get", i -> sum += concurrent.get(i & 1));
        things.put("concurrent map put", i -> concurrent.put(i & 1, i));
        things.put("for concurrent values", i -> concurrent.values().forEach(it -> sum += it));
        things.put("for copy on write", i -> copied.forEach(it -> sum += it));
        things.put("queue add and poll", i -> {
            queue.add(i);
            sum += queue.poll();
        });
        things.put("stage", i -> sum += CompletableFuture.completedFuture(i).thenApply(it -> it + 1).join());
    }

    private void others() {
        things.put("text", i -> sum += ("a" + i).length());
        things.put("array copy", i -> {
            int[] to = new int[8];
            System.arraycopy(new int[8], 0, to, 0, 8);
        });
        things.put("array clone", i -> sum += new int[8].clone().length);
        things.put("exception", i -> {
            try {
                throw new IllegalStateException();
            } catch (IllegalStateException expected) {
                sum++;
            }
        });
    }
}
