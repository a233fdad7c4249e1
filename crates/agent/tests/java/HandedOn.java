import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Concurrent collections that are behind wrappers, or are copied by the library, and threads that it interrupts; the names of the
 * fields say what races.
 */
public class HandedOn extends Turns {
    static class Item implements Comparable<Item> {
        int setOk;
        int setRacy;
        int setStreamOk;
        int mapGetOk;
        int mapGetRacy;
        int mapValuesOk;
        int mapEntriesOk;
        int mapEachOk;
        int listOk;
        int listGetOk;
        int plainListRacy;
        int viewOk;
        int checkedOk;
        int lifoOk;
        int twiceOk;
        int addedOk;
        int listCopyOk;
        int listCopyRacy;
        int plainCopyRacy;
        int valuesCopyOk;
        int mapCopyOk;
        int treeCopyOk;
        int enumCopyOk;
        int immutableListOk;
        int immutableSetOk;
        int immutableMapOk;
        int allOk;
        int putAllOk;
        int dequeCopyOk;
        int linkedCopyOk;
        int hashCopyOk;
        int sortedCopyOk;
        int queueCopyOk;
        int concurrentCopyOk;
        int concurrentMapCopyOk;
        int arrayOk;
        int sameCopyOk;
        int sameAllOk;
        int greatestOk;
        int replacedOk;

        @Override
        public int compareTo(Item other) {
            return 0;
        }
    }

    int cancelledOk;
    int cancelledRacy;
    int stoppedOk;

    static void wrappers() throws Exception {
        Set<Item> set = Collections.newSetFromMap(new ConcurrentHashMap<>());
        inTurn(() -> {
            Item item = new Item();
            item.setOk = 1;
            item.setStreamOk = 1;
            set.add(item);
            item.setRacy = 1;
        }, () -> {
            for (Item item : set) {
                item.setOk++;
                item.setRacy++;
            }
        }, () -> set.stream().forEach(item -> item.setStreamOk++));

        Map<String, Item> inner = new ConcurrentHashMap<>();
        Map<String, Item> map = Collections.unmodifiableMap(inner);
        inTurn(() -> {
            Item item = new Item();
            item.mapGetOk = 1;
            item.mapValuesOk = 1;
            item.mapEntriesOk = 1;
            item.mapEachOk = 1;
            inner.put("a", item);
            item.mapGetRacy = 1;
        }, () -> {
            map.get("a").mapGetOk++;
            map.get("a").mapGetRacy++;
        }, () -> {
            for (Item item : map.values()) {
                item.mapValuesOk++;
            }
        }, () -> {
            for (Map.Entry<String, Item> entry : map.entrySet()) {
                entry.getValue().mapEntriesOk++;
            }
        }, () -> map.forEach((name, item) -> item.mapEachOk++));

        List<Item> innerList = new CopyOnWriteArrayList<>();
        List<Item> list = Collections.unmodifiableList(innerList);
        inTurn(() -> {
            Item item = new Item();
            item.listOk = 1;
            item.listGetOk = 1;
            innerList.add(item);
        }, () -> {
            for (Item item : list) {
                item.listOk++;
            }
        }, () -> list.get(0).listGetOk++);

        List<Item> plain = new ArrayList<>();
        List<Item> aroundPlain = Collections.unmodifiableList(plain);
        inTurn(() -> {
            Item item = new Item();
            item.plainListRacy = 1;
            plain.add(item);
        }, () -> aroundPlain.get(0).plainListRacy++);

        Map<String, Item> viewed = new ConcurrentHashMap<>();
        Collection<Item> view = Collections.unmodifiableCollection(viewed.values());
        inTurn(() -> {
            Item item = new Item();
            item.viewOk = 1;
            viewed.put("a", item);
        }, () -> {
            for (Item item : view) {
                item.viewOk++;
            }
        });

        Queue<Item> checked = Collections.checkedQueue(new ConcurrentLinkedQueue<>(), Item.class);
        inTurn(() -> {
            Item item = new Item();
            item.checkedOk = 1;
            checked.add(item);
        }, () -> checked.poll().checkedOk++);

        Queue<Item> lifo = Collections.asLifoQueue(new ConcurrentLinkedDeque<>());
        inTurn(() -> {
            Item item = new Item();
            item.lifoOk = 1;
            lifo.add(item);
        }, () -> lifo.poll().lifoOk++);

        Map<String, Item> both = new ConcurrentHashMap<>();
        Map<String, Item> twice = Collections.checkedMap(Collections.unmodifiableMap(both), String.class, Item.class);
        inTurn(() -> {
            Item item = new Item();
            item.twiceOk = 1;
            both.put("a", item);
        }, () -> twice.get("a").twiceOk++);

        Queue<Item> queue = new ConcurrentLinkedQueue<>();
        inTurn(() -> {
            Item item = new Item();
            item.addedOk = 1;
            Collections.addAll(queue, item);
        }, () -> queue.poll().addedOk++);
    }

    static void copies() throws Exception {
        Queue<Item> queue = new ConcurrentLinkedQueue<>();
        inTurn(() -> {
            Item item = new Item();
            item.listCopyOk = 1;
            item.allOk = 1;
            item.dequeCopyOk = 1;
            item.linkedCopyOk = 1;
            item.hashCopyOk = 1;
            item.queueCopyOk = 1;
            item.concurrentCopyOk = 1;
            item.greatestOk = 1;
            queue.add(item);
            item.listCopyRacy = 1;
        }, () -> {
            for (Item item : new ArrayList<>(queue)) {
                item.listCopyOk++;
                item.listCopyRacy++;
            }
        }, () -> {
            List<Item> all = new ArrayList<>();
            all.addAll(queue);
            all.get(0).allOk++;
        }, () -> new ArrayDeque<>(queue).peek().dequeCopyOk++,
                () -> new LinkedList<>(queue).peek().linkedCopyOk++,
                () -> {
                    for (Item item : new HashSet<>(queue)) {
                        item.hashCopyOk++;
                    }
                },
                () -> new PriorityQueue<>(queue).peek().queueCopyOk++,
                () -> new CopyOnWriteArrayList<>(queue).get(0).concurrentCopyOk++,
                () -> Collections.max(queue).greatestOk++);

        List<Item> plain = new ArrayList<>();
        inTurn(() -> {
            Item item = new Item();
            item.plainCopyRacy = 1;
            plain.add(item);
        }, () -> new ArrayList<>(plain).get(0).plainCopyRacy++);

        Map<TimeUnit, Item> map = new ConcurrentHashMap<>();
        inTurn(() -> {
            Item item = new Item();
            item.valuesCopyOk = 1;
            item.mapCopyOk = 1;
            item.enumCopyOk = 1;
            item.immutableMapOk = 1;
            item.putAllOk = 1;
            item.sortedCopyOk = 1;
            item.concurrentMapCopyOk = 1;
            map.put(TimeUnit.DAYS, item);
        }, () -> new ArrayList<>(map.values()).get(0).valuesCopyOk++,
                () -> new HashMap<>(map).get(TimeUnit.DAYS).mapCopyOk++,
                () -> new EnumMap<>(map).get(TimeUnit.DAYS).enumCopyOk++,
                () -> Map.copyOf(map).get(TimeUnit.DAYS).immutableMapOk++,
                () -> {
                    Map<TimeUnit, Item> all = new HashMap<>();
                    all.putAll(map);
                    all.get(TimeUnit.DAYS).putAllOk++;
                },
                () -> new TreeSet<>(map.values()).first().sortedCopyOk++,
                () -> new ConcurrentHashMap<>(map).get(TimeUnit.DAYS).concurrentMapCopyOk++);

        Map<String, Item> sorted = new ConcurrentSkipListMap<>();
        inTurn(() -> {
            Item item = new Item();
            item.treeCopyOk = 1;
            sorted.put("a", item);
        }, () -> new TreeMap<>(sorted).get("a").treeCopyOk++);

        CopyOnWriteArrayList<Item> list = new CopyOnWriteArrayList<>();
        inTurn(() -> {
            Item item = new Item();
            item.immutableListOk = 1;
            item.immutableSetOk = 1;
            item.arrayOk = 1;
            item.sameCopyOk = 1;
            item.sameAllOk = 1;
            list.add(item);
        }, () -> List.copyOf(list).get(0).immutableListOk++,
                () -> {
                    for (Item item : Set.copyOf(list)) {
                        item.immutableSetOk++;
                    }
                },
                () -> list.toArray(Item[]::new)[0].arrayOk++,
                () -> new CopyOnWriteArrayList<>(list).get(0).sameCopyOk++,
                () -> {
                    CopyOnWriteArrayList<Item> all = new CopyOnWriteArrayList<>();
                    all.addAll(list);
                    all.get(0).sameAllOk++;
                });

        Map<String, Item> entries = new ConcurrentHashMap<>(Map.of("a", new Item()));
        inTurn(() -> {
            Item item = new Item();
            item.replacedOk = 1;
            for (Map.Entry<String, Item> entry : entries.entrySet()) {
                entry.setValue(item);
            }
        }, () -> entries.get("a").replacedOk++);
    }

    void cancelled() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        String begun = newStep();
        String racy = newStep();
        Future<?> waiting = pool.submit(() -> {
            say(begun);
            try {
                new LinkedBlockingQueue<Item>().take();
            } catch (InterruptedException e) {
                cancelledOk++;
                hear(racy);
                cancelledRacy++;
            }
        });
        inTurn(() -> {
            hear(begun);
            cancelledOk = 1;
            waiting.cancel(true);
            cancelledRacy = 1;
            say(racy);
        });
        String again = newStep();
        pool.execute(() -> {
            say(again);
            try {
                Thread.sleep(20_000);
            } catch (InterruptedException e) {
                stoppedOk++;
            }
        });
        inTurn(() -> {
            hear(again);
            stoppedOk = 1;
            pool.shutdownNow();
        });
        if (!pool.awaitTermination(20, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the pool goes on");
        }
    }

    public static void main(String[] arguments) throws Exception {
        wrappers();
        copies();
        new HandedOn().cancelled();
        System.out.println("done");
    }
}
