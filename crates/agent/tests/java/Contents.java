import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Objects of the library that two threads use, with and without a lock; their classes tell them apart. */
public class Contents extends Turns {
    static void both(Body first, Body second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    public static void main(String[] arguments) throws Exception {
        List<String> racy = new ArrayList<>(100);
        both(() -> racy.add("a"), () -> racy.size());
        List<String> locked = new LinkedList<>();
        Body adds = () -> {
            synchronized (locked) {
                locked.add("a");
            }
        };
        both(adds, adds);
        Map<String, String> map = new HashMap<>();
        both(() -> map.put("a", "b"), () -> map.get("a"));
        Map<String, String> read = new TreeMap<>();
        read.put("a", "b");
        both(() -> read.get("a"), () -> read.get("a"));
        Map<String, String> concurrent = new ConcurrentHashMap<>();
        both(() -> concurrent.put("a", "b"), () -> concurrent.put("a", "b"));
        StringBuilder builder = new StringBuilder(100);
        both(() -> builder.append("a"), () -> builder.length());
        StringBuffer buffer = new StringBuffer();
        both(() -> buffer.append("a"), () -> buffer.append("b"));
        System.out.println("done " + locked.size() + buffer.length());
    }
}
