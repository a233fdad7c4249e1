package catalog;

import java.util.HashMap;
import java.util.Map;

/**
 * A catalog that is loaded when it is first needed, with double-checked locking.
 *
 * <p>The idiom is broken without {@code volatile}: the check outside the lock may see the catalog
 * before what its constructor wrote. Declaring {@code instance} volatile repairs it.
 */
public final class Catalog {
    private static Catalog instance;

    private Map<String, Integer> prices;

    private Catalog() {
        prices = new HashMap<>();
        prices.put("apple", 3);
        prices.put("pear", 4);
    }

    static Catalog get() {
        if (instance == null) {
            synchronized (Catalog.class) {
                if (instance == null) {
                    instance = new Catalog();
                }
            }
        }
        return instance;
    }

    int price(String article) {
        return prices.getOrDefault(article, 0);
    }

    public static void main(String[] arguments) {
        for (String article : new String[] {"apple", "pear"}) {
            new Thread(() -> System.out.println(article + ": " + get().price(article))).start();
        }
    }
}
