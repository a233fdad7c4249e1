package tsp;

/** A worker: takes beginnings, splits them, and searches short rests alone. */
final class TourSolver implements Runnable {
    private final Distances distances;
    private final WorkQueue queue;
    private final TourPool pool;
    private final int splitDepth;
    private final int[] rest;
    private long nodes;
    private long cuts;

    TourSolver(Distances distances, WorkQueue queue, TourPool pool, int splitDepth) {
        this.distances = distances;
        this.queue = queue;
        this.pool = pool;
        this.splitDepth = splitDepth;
        this.rest = new int[distances.cities()];
    }

    @Override
    public void run() {
        try {
            TourElement element = queue.take();
            while (element != null) {
                if (element.bound < BestTour.minimum) {
                    if (element.length < splitDepth) {
                        split(element);
                    } else {
                        System.arraycopy(element.prefix, 0, rest, 0, element.length);
                        search(element.length, element.cost, element.visited);
                    }
                } else {
                    cuts++;
                }
                pool.giveBack(element);
                queue.done();
                element = queue.take();
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void split(TourElement element) {
        int from = element.last();
        for (int city = 1; city < distances.cities(); city++) {
            if ((element.visited & (1 << city)) != 0) {
                continue;
            }
            TourElement child = pool.borrow();
            child.copyFrom(element);
            child.append(city, distances.between(from, city));
            child.bound = lowerBound(child);
            nodes++;
            if (child.bound < BestTour.minimum) {
                queue.put(child);
            } else {
                cuts++;
                pool.giveBack(child);
            }
        }
    }

    private int lowerBound(TourElement element) {
        return element.cost + leastRest(element.last(), element.visited);
    }

    private int leastRest(int last, int visited) {
        int sum = distances.shortestOut(last, visited);
        for (int city = 1; city < distances.cities(); city++) {
            if ((visited & (1 << city)) == 0) {
                sum += distances.shortestOut(city, visited);
            }
        }
        return sum;
    }

    private void search(int length, int cost, int visited) {
        nodes++;
        int from = rest[length - 1];
        if (length == distances.cities()) {
            BestTour.offer(cost + distances.between(from, 0), rest, length);
            return;
        }
        if (cost + leastRest(from, visited) >= BestTour.minimum) {
            cuts++;
            return;
        }
        for (int city = 1; city < distances.cities(); city++) {
            if ((visited & (1 << city)) == 0) {
                rest[length] = city;
                search(length + 1, cost + distances.between(from, city), visited | (1 << city));
            }
        }
    }

    long nodes() {
        return nodes;
    }

    long cuts() {
        return cuts;
    }
}
