import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.ListIterator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Random;
import java.util.Scanner;
import java.util.StringJoiner;
import java.util.StringTokenizer;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.Vector;
import java.util.WeakHashMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/** Two threads use much of java.util, each its own objects. What they find is printed by one, then by the other. */
public class Library {
    enum Kind { SMALL, LARGE, NONE }

    static class Counting extends HashMap<String, Integer> {
        int added;

        @Override
        public Integer put(String key, Integer value) {
            added++;
            return super.put(key, value);
        }
    }

    final StringBuilder found = new StringBuilder();
    final Random random;

    Library(int seed) {
        random = new Random(seed);
    }

    void say(String what, Object value) {
        found.append(what).append(": ").append(value).append('\n');
    }

    void maps() {
        Map<String, Integer> counts = new HashMap<>();
        Map<String, Integer> ordered = new LinkedHashMap<>();
        TreeMap<String, Integer> sorted = new TreeMap<>(Comparator.reverseOrder());
        Map<Integer, List<Integer>> groups = new HashMap<>();
        for (int i = 0; i < 3000; i++) {
            String key = "k" + random.nextInt(500);
            counts.merge(key, 1, Integer::sum);
            ordered.computeIfAbsent(key, String::length);
            sorted.put(key, i);
            groups.computeIfAbsent(i % 17, each -> new ArrayList<>()).add(i);
        }
        counts.keySet().removeIf(key -> key.hashCode() % 3 == 0);
        counts.replaceAll((key, value) -> value + key.length());
        say("counts", new TreeMap<>(counts));
        say("ordered", ordered);
        say("sorted", sorted.headMap("k300").size() + " " + sorted.firstEntry() + " " + sorted.ceilingKey("k25"));
        say("groups", groups.get(3).stream().mapToInt(Integer::intValue).sum());
        Counting own = new Counting();
        own.put("a", 1);
        own.putAll(Map.of("b", 2));
        say("own", own.added + " " + own.size() + " " + ((Map<?, ?>) own.clone()).size());
        Map<Kind, String> kinds = new EnumMap<>(Kind.class);
        kinds.put(Kind.LARGE, "large");
        say("kinds", kinds);
        Map<Object, Integer> same = new IdentityHashMap<>();
        same.put(new String("x"), 1);
        same.put(new String("x"), 2);
        say("identity", same.size());
        Map<Object, Integer> weak = new WeakHashMap<>();
        weak.put(Kind.NONE, 1);
        say("weak", weak);
        // Enough equal hashes for trees in the table.
        Map<Object, Integer> crowded = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            crowded.put(new Crowd(i), i);
        }
        say("crowded", crowded.get(new Crowd(57)));
        Properties properties = new Properties();
        properties.setProperty("name", "value");
        say("properties", properties);
    }

    record Crowd(int number) implements Comparable<Crowd> {
        @Override
        public int hashCode() {
            return 7;
        }

        @Override
        public int compareTo(Crowd other) {
            return Integer.compare(number, other.number);
        }
    }

    void lists() {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            numbers.add(random.nextInt(1000));
        }
        List<Integer> linked = new LinkedList<>(numbers);
        for (ListIterator<Integer> each = linked.listIterator(); each.hasNext();) {
            if (each.next() % 2 == 0) {
                each.remove();
            }
        }
        Collections.sort(numbers);
        Collections.reverse(linked);
        say("numbers", numbers.subList(100, 120) + " " + numbers.indexOf(500));
        say("linked", linked.size() + " " + linked.get(3));
        try {
            for (Integer each : numbers) {
                numbers.remove(each);
            }
        } catch (java.util.ConcurrentModificationException expected) {
            say("modified", expected.getMessage());
        }
        Vector<String> vector = new Vector<>(List.of("a", "b", "c"));
        Collections.shuffle(vector, random);
        say("vector", vector);
        String[] words = "the quick brown fox jumps over the lazy dog".split(" ");
        Arrays.sort(words, Comparator.comparing(String::length).thenComparing(Comparator.naturalOrder()));
        say("words", Arrays.toString(words) + Arrays.hashCode(words) + Arrays.asList(words).contains("fox"));
        int[] ints = random.ints(5000, 0, 100000).toArray();
        Arrays.parallelPrefix(ints, Math::max);
        Arrays.sort(ints);
        say("ints", Arrays.binarySearch(ints, ints[2500]) + " " + Arrays.stream(ints).sum());
    }

    void queues() {
        Deque<Integer> deque = new ArrayDeque<>();
        PriorityQueue<Integer> queue = new PriorityQueue<>(Collections.reverseOrder());
        for (int i = 0; i < 500; i++) {
            deque.addFirst(i);
            deque.addLast(-i);
            queue.add(random.nextInt(100000));
        }
        for (Iterator<Integer> each = deque.iterator(); each.hasNext();) {
            if (each.next() % 5 == 0) {
                each.remove();
            }
        }
        say("deque", deque.size() + " " + deque.pollFirst() + " " + deque.peekLast());
        say("queue", queue.poll() + " " + queue.size());
        BitSet bits = new BitSet();
        // What is repeated before anything is released is not recorded again.
        IntStream.range(0, 300).filter(i -> i % 7 == 0).forEach(i -> {
            synchronized (bits) {
                bits.set(i);
            }
        });
        bits.flip(10, 20);
        say("bits", bits + " " + bits.cardinality());
        say("set", new TreeSet<>(deque).subSet(-20, 20));
    }

    void streams() {
        say("joined", Stream.of("c", "a", "b").sorted().collect(Collectors.joining(",", "[", "]")));
        say("grouped", IntStream.range(0, 100).boxed().collect(Collectors.groupingBy(i -> i % 3, TreeMap::new, Collectors.counting())));
        say("flat", Stream.iterate(1, i -> i * 2).limit(10).flatMap(i -> Stream.of(i, -i)).distinct().toList());
        say("found", IntStream.iterate(3, i -> i + 7).filter(i -> i % 11 == 0).findFirst());
        say("statistics", random.doubles(100).summaryStatistics().getCount());
        say("optional", Optional.of(3).map(i -> i + 1).filter(i -> i > 3).orElse(0));
        say("parallel", IntStream.range(0, 10000).parallel().mapToObj(i -> i).filter(i -> i % 3 == 0).collect(Collectors.toList()).size());
    }

    void texts() {
        Matcher matcher = Pattern.compile("(\\w+)=(\\d+)").matcher("a=1, b=22, c=333");
        StringJoiner joiner = new StringJoiner("/");
        while (matcher.find()) {
            joiner.add(matcher.group(2) + matcher.group(1));
        }
        say("joiner", joiner);
        say("format", String.format(Locale.ROOT, "%05d %-6s| %.3f %x", 42, "left", Math.PI, 255));
        say("tokens", new StringTokenizer("a b c").countTokens());
        Scanner scanner = new Scanner("1 2 3 rest of it");
        say("scanner", scanner.nextInt() + scanner.nextInt() + " " + scanner.nextLine());
        say("uuid", UUID.nameUUIDFromBytes(new byte[] {1, 2, 3}));
        CRC32 sum = new CRC32();
        sum.update("check".getBytes());
        say("sum", sum.getValue());
    }

    void tasks() throws Exception {
        ConcurrentHashMap<String, Integer> shared = new ConcurrentHashMap<>();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            int number = i;
            tasks.add(() -> {
                shared.merge("sum", number, Integer::sum);
                return number * number;
            });
        }
        int sum = 0;
        for (Future<Integer> each : pool.invokeAll(tasks)) {
            sum += each.get();
        }
        pool.shutdown();
        say("tasks", sum + " " + shared);
    }

    void all() {
        try {
            maps();
            lists();
            queues();
            streams();
            texts();
            tasks();
        } catch (Exception unexpected) {
            unexpected.printStackTrace();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Library first = new Library(1);
        Library second = new Library(2);
        Thread one = new Thread(first::all, "one");
        Thread two = new Thread(second::all, "two");
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.print(first.found);
        System.out.print(second.found);
    }
}
