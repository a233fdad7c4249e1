package tsp;

/** Elements made in advance, so that the search makes no garbage. */
final class TourPool {
    private final TourElement[] free;
    private final int cities;
    private int count;
    private int borrowed;
    private int mostBorrowed;

    TourPool(int size, int cities) {
        this.cities = cities;
        free = new TourElement[size];
        for (int index = 0; index < size; index++) {
            free[index] = new TourElement(cities);
        }
        count = size;
    }

    synchronized TourElement borrow() {
        borrowed++;
        mostBorrowed = Math.max(mostBorrowed, borrowed);
        if (count == 0) {
            return new TourElement(cities);
        }
        count--;
        TourElement element = free[count];
        free[count] = null;
        return element;
    }

    synchronized void giveBack(TourElement element) {
        borrowed--;
        if (count < free.length) {
            free[count] = element;
            count++;
        }
    }

    synchronized int borrowed() {
        return borrowed;
    }

    synchronized int mostBorrowed() {
        return mostBorrowed;
    }
}
