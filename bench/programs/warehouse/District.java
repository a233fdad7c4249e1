package warehouse;

import java.util.HashMap;
import java.util.Map;

/** A part of a warehouse with customers of its own. */
final class District {
    private final Customer[] customers;
    /** Orders that are still open, by number; guarded by this. */
    private final Map<Long, Order> open = new HashMap<>();
    private long income;
    private int orders;

    District(int first, int count) {
        customers = new Customer[count];
        for (int index = 0; index < count; index++) {
            customers[index] = new Customer(first + index);
        }
    }

    Customer customer(int index) {
        return customers[index % customers.length];
    }

    synchronized void add(Order order) {
        open.put(order.number(), order);
        orders++;
    }

    synchronized void delivered(Order order) {
        open.remove(order.number());
    }

    synchronized void received(long cents) {
        income += cents;
    }

    /** Wrong: written under the lock and read without, and it is a long. */
    long income() {
        return income;
    }

    synchronized int orders() {
        return orders;
    }

    synchronized int openOrders() {
        return open.size();
    }

    long turnover() {
        long sum = 0;
        for (Customer customer : customers) {
            sum += customer.turnover();
        }
        return sum;
    }
}
