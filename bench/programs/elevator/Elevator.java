package elevator;

import java.util.Iterator;
import java.util.Vector;

/** An elevator is a thread that carries out what the control board shows, a step a tick. */
final class Elevator extends Thread {
    private static final int CAPACITY = 6;

    private final int id;
    private final ControlBoard board;
    private final Clock clock;
    private final Vector<Passenger> cabin = new Vector<>();
    /** Written by this thread alone; the display reads it at any time. */
    private int position;
    private int carried;
    private int stops;
    private boolean up = true;

    Elevator(int id, ControlBoard board, Clock clock, int position) {
        super("elevator-" + id);
        this.id = id;
        this.board = board;
        this.clock = clock;
        this.position = position;
    }

    @Override
    public void run() {
        try {
            while (board.awaitWork(2)) {
                if (cabin.isEmpty()) {
                    fetch();
                } else {
                    carry();
                }
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void fetch() throws InterruptedException {
        int target = board.nextCall(id, position);
        if (target == ControlBoard.NONE) {
            clock.awaitTick(clock.now());
            return;
        }
        while (position != target) {
            move(position < target);
        }
        up = board.isCalled(position, true);
        if (!open()) {
            board.abandon(id, target);
        }
    }

    private void carry() throws InterruptedException {
        if ((up && position == board.floors() - 1) || (!up && position == 0)) {
            up = !up;
        }
        move(up);
        leave();
        if (cabin.isEmpty()) {
            return;
        }
        if (cabin.size() < CAPACITY && board.isCalled(position, up)) {
            open();
        }
    }

    private void move(boolean upwards) throws InterruptedException {
        clock.awaitTick(clock.now());
        position += upwards ? 1 : -1;
    }

    private boolean open() {
        int before = cabin.size();
        int taken = board.board(position, up, CAPACITY - before, cabin);
        for (int index = before; index < cabin.size(); index++) {
            cabin.get(index).board(clock.now());
        }
        if (taken > 0) {
            stops++;
        }
        return taken > 0;
    }

    private void leave() {
        Iterator<Passenger> riders = cabin.iterator();
        boolean stopped = false;
        while (riders.hasNext()) {
            Passenger rider = riders.next();
            if (rider.to() == position) {
                riders.remove();
                rider.deliver(clock.now());
                board.deliver(rider, position);
                carried++;
                stopped = true;
            }
        }
        if (stopped) {
            stops++;
        }
    }

    int id() {
        return id;
    }

    int position() {
        return position;
    }

    int carried() {
        return carried;
    }

    int stops() {
        return stops;
    }
}
