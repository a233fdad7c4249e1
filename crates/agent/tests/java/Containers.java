import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Vector;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;

/**
 * Objects that are handed over in collections: what was done to one before it was put in comes before what
 * is done after it was got out; the names of the fields say what races.
 */
public class Containers extends Turns {
    static class Item {
        int queuedOk;
        int queuedRacy;
        int polledOk;
        int handedOk;
        int mappedOk;
        int mappedRacy;
        int computedOk;
        int mergedOk;
        int viewedOk;
        int iteratedOk;
        int copiedOk;
        int otherRacy;
        int plainRacy;
        int vectorOk;
        int tableOk;
        int wrappedOk;
    }

    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    static void queues() throws Exception {
        BlockingQueue<Item> queue = new LinkedBlockingQueue<>();
        both(() -> {
            Item item = new Item();
            item.queuedOk = 1;
            queue.put(item);
            item.queuedRacy = 1;
        }, () -> {
            Item item = queue.take();
            int seen = item.queuedOk + item.queuedRacy;
        });
        Queue<Item> linked = new ConcurrentLinkedQueue<>();
        both(() -> {
            Item item = new Item();
            item.polledOk = 1;
            linked.add(item);
        }, () -> {
            Item item;
            while ((item = linked.poll()) == null) {
                Thread.sleep(1);
            }
            item.polledOk++;
        });
        SynchronousQueue<Item> direct = new SynchronousQueue<>();
        both(() -> {
            Item item = new Item();
            item.handedOk = 1;
            direct.put(item);
        }, () -> direct.take().handedOk++);
        // What is put into one queue says nothing to who takes from another.
        BlockingQueue<Item> one = new ArrayBlockingQueue<>(1);
        BlockingQueue<Item> other = new ArrayBlockingQueue<>(1);
        Item shared = new Item();
        other.put(shared);
        both(() -> {
            shared.otherRacy = 1;
            one.put(shared);
        }, () -> other.take().otherRacy++);
    }

    static void maps() throws Exception {
        ConcurrentMap<String, Item> map = new ConcurrentHashMap<>();
        both(() -> {
            Item item = new Item();
            item.mappedOk = 1;
            map.put("a", item);
            item.mappedRacy = 1;
        }, () -> {
            Map<String, Item> same = map;
            Item item;
            while ((item = same.get("a")) == null) {
                Thread.sleep(1);
            }
            int seen = item.mappedOk + item.mappedRacy;
        });
        Body computes = () -> {
            Item item = map.computeIfAbsent("b", key -> {
                Item fresh = new Item();
                fresh.computedOk = 1;
                return fresh;
            });
            int seen = item.computedOk;
        };
        both(computes, computes);
        // What is computed for one key is computed one after another.
        Body merges = () -> map.compute("b", (key, old) -> {
            old.mergedOk++;
            return old;
        });
        both(merges, merges);
        both(() -> {
            Item item = new Item();
            item.viewedOk = 1;
            map.put("c", item);
        }, () -> {
            while (map.size() < 3) {
                Thread.sleep(1);
            }
            for (Item item : map.values()) {
                int seen = item.viewedOk;
            }
        });
        // A map without synchronization hands over nothing, whatever its type says.
        Map<String, Item> plain = new HashMap<>();
        Item item = new Item();
        plain.put("a", item);
        both(() -> {
            item.plainRacy = 1;
            plain.get("a");
        }, () -> plain.get("a").plainRacy++);
    }

    static void lists() throws Exception {
        List<Item> list = new CopyOnWriteArrayList<>();
        both(() -> {
            Item item = new Item();
            item.copiedOk = 1;
            list.add(item);
        }, () -> {
            while (list.isEmpty()) {
                Thread.sleep(1);
            }
            list.get(0).copiedOk++;
        });
        Collection<Item> linked = new ConcurrentLinkedQueue<>();
        both(() -> {
            Item item = new Item();
            item.iteratedOk = 1;
            linked.add(item);
        }, () -> {
            Iterator<Item> items;
            while (!(items = linked.iterator()).hasNext()) {
                Thread.sleep(1);
            }
            items.next().iteratedOk++;
        });
        Vector<Item> vector = new Vector<>();
        both(() -> {
            Item item = new Item();
            item.vectorOk = 1;
            vector.add(item);
        }, () -> {
            while (vector.isEmpty()) {
                Thread.sleep(1);
            }
            vector.get(0).vectorOk++;
        });
        Map<String, Item> table = new Hashtable<>();
        both(() -> {
            Item item = new Item();
            item.tableOk = 1;
            table.put("a", item);
        }, () -> {
            while (table.get("a") == null) {
                Thread.sleep(1);
            }
            table.get("a").tableOk++;
        });
        Map<String, Item> wrapped = Collections.synchronizedMap(new HashMap<>());
        both(() -> {
            Item item = new Item();
            item.wrappedOk = 1;
            wrapped.put("a", item);
        }, () -> {
            while (!wrapped.containsKey("a")) {
                Thread.sleep(1);
            }
            wrapped.get("a").wrappedOk++;
        });
    }

    public static void main(String[] arguments) throws Exception {
        queues();
        maps();
        lists();
        System.out.println("done");
    }
}
