package elevator;

import java.util.Iterator;
import java.util.Vector;

/**
 * A floor: who waits on it and who has arrived. Not synchronized: the control board holds the lock of
 * the floor around every call.
 */
final class Floor {
    private final int number;
    private final Vector<Passenger> waiting = new Vector<>();
    private final Vector<Passenger> arrived = new Vector<>();
    private boolean upPressed;
    private boolean downPressed;
    private int servedBy = -1;

    Floor(int number) {
        this.number = number;
    }

    int number() {
        return number;
    }

    void add(Passenger passenger) {
        waiting.add(passenger);
        if (passenger.goesUp()) {
            upPressed = true;
        } else {
            downPressed = true;
        }
    }

    /** Takes up to {@code room} passengers who want to go the way the cabin goes. */
    int leave(boolean up, int room, Vector<Passenger> cabin) {
        int taken = 0;
        boolean left = false;
        Iterator<Passenger> queue = waiting.iterator();
        while (queue.hasNext()) {
            Passenger passenger = queue.next();
            if (passenger.goesUp() != up) {
                continue;
            }
            if (taken == room) {
                left = true;
                break;
            }
            queue.remove();
            cabin.add(passenger);
            taken++;
        }
        if (up) {
            upPressed = left;
        } else {
            downPressed = left;
        }
        servedBy = -1;
        return taken;
    }

    void arrive(Passenger passenger) {
        arrived.add(passenger);
    }

    boolean isPressed(boolean up) {
        return up ? upPressed : downPressed;
    }

    boolean isAnyPressed() {
        return upPressed || downPressed;
    }

    boolean claim(int elevator) {
        if (servedBy >= 0 && servedBy != elevator) {
            return false;
        }
        servedBy = elevator;
        return true;
    }

    void unclaim(int elevator) {
        if (servedBy == elevator) {
            servedBy = -1;
        }
    }

    int waitingCount() {
        return waiting.size();
    }

    Vector<Passenger> arrived() {
        return arrived;
    }
}
