package elevator;

import java.util.Vector;

/**
 * What elevators poll for directives. Every floor is guarded by a lock of its own, kept in an array
 * beside the floors, so that two elevators work on two floors at the same time.
 */
final class ControlBoard {
    static final int NONE = -1;

    private final Floor[] floors;
    private final Object[] locks;
    /** Guarded by this. */
    private int pending;
    private int delivered;
    private boolean closed;

    ControlBoard(int count) {
        floors = new Floor[count];
        locks = new Object[count];
        for (int number = 0; number < count; number++) {
            floors[number] = new Floor(number);
            locks[number] = new Object();
        }
    }

    int floors() {
        return floors.length;
    }

    /** A passenger appears and presses a button. */
    void call(Passenger passenger) {
        synchronized (this) {
            pending++;
            notifyAll();
        }
        int from = passenger.from();
        synchronized (locks[from]) {
            floors[from].add(passenger);
        }
    }

    /** The nearest floor with a button pressed that no other elevator is on its way to. */
    int nextCall(int elevator, int position) {
        for (int distance = 0; distance < floors.length; distance++) {
            int above = position + distance;
            if (above < floors.length && claim(elevator, above)) {
                return above;
            }
            int below = position - distance;
            if (distance > 0 && below >= 0 && claim(elevator, below)) {
                return below;
            }
        }
        return NONE;
    }

    private boolean claim(int elevator, int number) {
        synchronized (locks[number]) {
            Floor floor = floors[number];
            return floor.isAnyPressed() && floor.claim(elevator);
        }
    }

    void abandon(int elevator, int number) {
        synchronized (locks[number]) {
            floors[number].unclaim(elevator);
        }
    }

    boolean isCalled(int number, boolean up) {
        synchronized (locks[number]) {
            return floors[number].isPressed(up);
        }
    }

    /** Opens the doors: passengers who go this way come in. */
    int board(int number, boolean up, int room, Vector<Passenger> cabin) {
        synchronized (locks[number]) {
            return floors[number].leave(up, room, cabin);
        }
    }

    void deliver(Passenger passenger, int number) {
        synchronized (locks[number]) {
            floors[number].arrive(passenger);
        }
        synchronized (this) {
            pending--;
            delivered++;
            notifyAll();
        }
    }

    /** Waits for something to do; false if nothing will ever be to do again. */
    synchronized boolean awaitWork(long millis) throws InterruptedException {
        if (pending == 0 && !closed) {
            wait(millis);
        }
        return pending > 0 || !closed;
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    synchronized int delivered() {
        return delivered;
    }

    /** Once all elevators stand still. */
    Floor floor(int number) {
        synchronized (locks[number]) {
            return floors[number];
        }
    }
}
