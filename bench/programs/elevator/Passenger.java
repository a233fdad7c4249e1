package elevator;

/** Somebody on the way from one floor to another. */
final class Passenger {
    private final int id;
    private final int from;
    private final int to;
    private final int bornAt;
    /** Set by the elevator that carries the passenger, read when the simulation is over. */
    private int boardedAt = -1;
    private int deliveredAt = -1;

    Passenger(int id, int from, int to, int bornAt) {
        this.id = id;
        this.from = from;
        this.to = to;
        this.bornAt = bornAt;
    }

    int id() {
        return id;
    }

    int from() {
        return from;
    }

    int to() {
        return to;
    }

    int bornAt() {
        return bornAt;
    }

    boolean goesUp() {
        return to > from;
    }

    void board(int tick) {
        boardedAt = tick;
    }

    void deliver(int tick) {
        deliveredAt = tick;
    }

    boolean isDelivered() {
        return deliveredAt >= 0;
    }

    int waited() {
        return boardedAt - bornAt;
    }
}
