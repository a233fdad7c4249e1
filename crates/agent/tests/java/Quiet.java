import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/** Calls that only take, between accesses that are therefore redundant, and calls that give away, between those that are not. */
public class Quiet {
    int counted;
    int overwrittenRacy;
    int takenRacy;
    int given;
    final ConcurrentHashMap<String, Quiet> map = new ConcurrentHashMap<>();

    void first() {
        given = 1;
        overwrittenRacy = 1;
        takenRacy = 1;
        map.get("nothing");
        takenRacy = 2;
        map.put("quiet", this);
        overwrittenRacy = 2;
    }

    int second() {
        Quiet quiet = map.get("quiet");
        while (quiet == null) {
            Thread.onSpinWait();
            quiet = map.get("quiet");
        }
        return quiet.given + quiet.overwrittenRacy;
    }

    int third() {
        return takenRacy;
    }

    public static void main(String[] args) throws InterruptedException {
        Quiet quiet = new Quiet();
        List<Integer> list = new ArrayList<>(List.of(1, 2, 3));
        for (int round = 0; round < 1000; round++) {
            for (int each : list) {
                quiet.counted += each;
            }
            quiet.map.get("nothing");
        }
        Thread[] threads = {new Thread(quiet::first), new Thread(quiet::second), new Thread(quiet::third)};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
