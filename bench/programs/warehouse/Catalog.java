package warehouse;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** All items. Made once, when somebody first asks for it, by the initializer of the holder. */
final class Catalog {
    private final List<Item> items;
    private final Map<Integer, Item> byId = new HashMap<>();

    private Catalog(int count) {
        items = IntStream.range(0, count)
                .mapToObj(id -> new Item(id, "item " + id, 100 + (id * 7919L) % 9900))
                .collect(Collectors.toUnmodifiableList());
        for (Item item : items) {
            byId.put(item.id(), item);
        }
    }

    static Catalog get() {
        return Holder.CATALOG;
    }

    Item item(int id) {
        return byId.get(id);
    }

    int size() {
        return items.size();
    }

    private static final class Holder {
        static final Catalog CATALOG = new Catalog(200);
    }
}
