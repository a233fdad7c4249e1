import java.util.TreeMap;
import java.util.Comparator;

/** What tells nothing new although locks are given back, or although two threads do it in turns. */
public class Settled {
    static final Object CONSTANT = new Object();
    static final Object LOCK = new Object();
    static int turn;

    int looked;
    int compared;
    final Object[] elements = {new Object(), new Object(), new Object(), new Object()};

    /** A constant is read in a thousand epochs. */
    static int constants() {
        int found = 0;
        for (int i = 0; i < 1000; i++) {
            synchronized (LOCK) {
                found += CONSTANT == null ? 0 : 1;
            }
        }
        return found;
    }

    /** A comparator that a map knows, and a field that is read beside it. */
    int comparisons() {
        Comparator<Integer> order = new Comparator<>() {
            @Override
            public int compare(Integer one, Integer other) {
                return one - other;
            }
        };
        TreeMap<Integer, Integer> map = new TreeMap<>(order);
        int found = 0;
        for (int i = 0; i < 1000; i++) {
            map.put(i, i);
            found += compared;
        }
        return found;
    }

    /** Elements that are copied are read and written, and nothing is told of what they are. */
    Object[] copies() {
        Object[] copy = new Object[elements.length];
        System.arraycopy(elements, 0, copy, 0, copy.length);
        return copy;
    }

    /** Reads a field until it is the other thread's turn, without a lock. */
    void look(int own) {
        for (int round = 0; round < 200; round++) {
            for (int i = 0; i < 20; i++) {
                turn += looked;
            }
            if (own == round % 2) {
                Thread.yield();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Settled it = new Settled();
        Thread one = new Thread(() -> it.look(0));
        Thread other = new Thread(() -> it.look(1));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(constants() + it.comparisons() + it.copies().length);
    }
}
