package warehouse;

import java.util.List;

/** What a customer wants. Its lines never change; its state is guarded by the order. */
final class Order {
    private final long number;
    private final Customer customer;
    private final List<Line> lines;
    private State state = State.NEW;
    private int carrier = -1;
    /** Set and never looked at: left over from an earlier version. */
    private boolean allLocal;

    Order(long number, Customer customer, List<Line> lines) {
        this.number = number;
        this.customer = customer;
        this.lines = List.copyOf(lines);
    }

    long number() {
        return number;
    }

    Customer customer() {
        return customer;
    }

    List<Line> lines() {
        return lines;
    }

    long cents() {
        return lines.stream().mapToLong(Line::cents).sum();
    }

    void setAllLocal(boolean local) {
        allLocal = local;
    }

    synchronized void deliver(int by) {
        if (state == State.DELIVERED) {
            throw new IllegalStateException("order " + number + " is delivered twice");
        }
        state = State.DELIVERED;
        carrier = by;
    }

    synchronized boolean isDelivered() {
        return state == State.DELIVERED && carrier >= 0;
    }

    /** Where an order is. */
    enum State {
        NEW,
        DELIVERED
    }

    /** So many of an item. */
    record Line(Item item, int count) {
        long cents() {
            return item.cents() * count;
        }
    }
}
