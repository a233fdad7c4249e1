package warehouse;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** A warehouse: stock, districts, and orders on their way out. */
final class Site {
    static final int STOCK_OF_EACH = 100;

    private final int id;
    private final Stock stock = new Stock(Catalog.get().size(), STOCK_OF_EACH);
    private final List<District> districts = new ArrayList<>();
    private final BlockingQueue<Shipment> outgoing = new ArrayBlockingQueue<>(256);

    Site(int id, int districtCount) {
        this.id = id;
        for (int number = 0; number < districtCount; number++) {
            districts.add(new District((id * districtCount + number) * 30, 30));
        }
    }

    int id() {
        return id;
    }

    Stock stock() {
        return stock;
    }

    District district(int number) {
        return districts.get(number % districts.size());
    }

    List<District> districts() {
        return districts;
    }

    void ship(Order order, District district) throws InterruptedException {
        outgoing.put(new Shipment(order, district));
    }

    /** The next shipment, or null if there is none for a while. */
    Shipment nextShipment() throws InterruptedException {
        return outgoing.poll(5, TimeUnit.MILLISECONDS);
    }

    /** An order on its way. */
    record Shipment(Order order, District district) {}
}
