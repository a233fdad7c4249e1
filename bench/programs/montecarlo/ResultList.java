package montecarlo;

import java.util.Vector;

/** Results of all workers. */
final class ResultList {
    private final Vector<PathResult> results;
    private double payoffSum;

    ResultList(int expected) {
        results = new Vector<>(expected);
    }

    void add(PathResult result) {
        results.addElement(result);
        synchronized (this) {
            payoffSum += result.payoff();
        }
    }

    int size() {
        return results.size();
    }

    PathResult get(int index) {
        return results.elementAt(index);
    }

    synchronized double payoffSum() {
        return payoffSum;
    }
}
