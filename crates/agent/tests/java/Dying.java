import java.util.ArrayList;
import java.util.List;

/** Makes many objects and arrays, few of which live on; threads race on some of those. */
public class Dying {
    static final Dying[] SHARED = new Dying[2];
    static final int[][] ROWS = new int[2][];

    int value;
    int raced;

    static final class Node extends Dying {
        long looksLikeAnId = 0x5EA1_0000_0000_0001L;
        Node next;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread other = new Thread(() -> System.out.println(work(1)), "other");
        other.start();
        int made = work(0);
        while (SHARED[1] == null || ROWS[1] == null) {
            Thread.onSpinWait();
        }
        SHARED[1].raced++;
        ROWS[1][3]++;
        other.join();
        System.out.println(made);
    }

    static int work(int part) {
        Dying shared = new Dying();
        shared.raced = 7;
        SHARED[part] = shared;
        int[] first = new int[4];
        first[3] = 7;
        ROWS[part] = first;
        List<Dying> kept = new ArrayList<>();
        for (int round = 0; round < 60_000; round++) {
            Node node = new Node();
            node.value = 1;
            node.next = new Node();
            node.next.value++;
            int[] row = new int[4];
            row[0] = 2;
            if (round % 5000 == 0) {
                kept.add(node);
                System.gc();
            }
        }
        int sum = 0;
        for (Dying each : kept) {
            sum += each.value;
        }
        return sum;
    }
}
