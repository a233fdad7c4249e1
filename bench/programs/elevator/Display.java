package elevator;

/** Shows now and then where the elevators are. It reads positions without a lock: a picture, no more. */
final class Display implements Runnable {
    private final Elevator[] elevators;
    private volatile boolean off;
    private int pictures;
    private int highest;

    Display(Elevator[] elevators) {
        this.elevators = elevators;
    }

    @Override
    public void run() {
        StringBuilder picture = new StringBuilder();
        while (!off) {
            picture.setLength(0);
            for (Elevator elevator : elevators) {
                int position = elevator.position();
                highest = Math.max(highest, position);
                picture.append(elevator.id()).append('@').append(position).append(' ');
            }
            if (pictures++ % 50 == 0) {
                System.out.println(picture);
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException stop) {
                return;
            }
        }
    }

    void turnOff() {
        off = true;
    }

    int pictures() {
        return pictures;
    }

    int highest() {
        return highest;
    }
}
