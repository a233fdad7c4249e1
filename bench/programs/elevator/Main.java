package elevator;

import java.util.Vector;

/**
 * A simulation of elevators in real time. Arguments: elevators (4), floors (12), passengers (300),
 * microseconds a tick (500).
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int elevatorCount = argument(args, 0, 4);
        int floorCount = argument(args, 1, 12);
        int passengerCount = argument(args, 2, 300);
        int tickMicros = argument(args, 3, 500);

        ControlBoard board = new ControlBoard(floorCount);
        Clock clock = new Clock(tickMicros);
        Scenario scenario = new Scenario(passengerCount, floorCount, 42);
        Elevator[] elevators = new Elevator[elevatorCount];
        for (int id = 0; id < elevatorCount; id++) {
            elevators[id] = new Elevator(id, board, clock, id * floorCount / elevatorCount);
        }
        Display display = new Display(elevators);
        Thread clockThread = new Thread(clock, "clock");
        Thread displayThread = new Thread(display, "display");
        clockThread.start();
        for (Elevator elevator : elevators) {
            elevator.start();
        }
        displayThread.start();

        for (Passenger passenger : scenario.arrivals()) {
            while (clock.now() < passenger.bornAt()) {
                clock.awaitTick(clock.now());
            }
            board.call(passenger);
        }
        board.close();
        for (Elevator elevator : elevators) {
            elevator.join();
        }
        clock.stop();
        clockThread.join();
        display.turnOff();
        displayThread.join();

        boolean right = check(board, elevators, scenario);
        System.out.println("display: " + display.pictures() + " pictures, highest floor "
                + display.highest());
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }

    private static boolean check(ControlBoard board, Elevator[] elevators, Scenario scenario) {
        int expected = scenario.arrivals().size();
        int arrived = 0;
        long waited = 0;
        boolean right = board.delivered() == expected;
        for (int number = 0; number < board.floors(); number++) {
            Floor floor = board.floor(number);
            Vector<Passenger> all = floor.arrived();
            right &= floor.waitingCount() == 0;
            for (Passenger passenger : all) {
                right &= passenger.to() == number && passenger.isDelivered();
                waited += passenger.waited();
                arrived++;
            }
        }
        int carried = 0;
        for (Elevator elevator : elevators) {
            System.out.println("elevator " + elevator.id() + ": " + elevator.carried() + " passengers, "
                    + elevator.stops() + " stops");
            carried += elevator.carried();
        }
        System.out.println("average wait: " + waited / Math.max(1, arrived) + " ticks");
        return right && arrived == expected && carried == expected;
    }

    private static int argument(String[] args, int index, int otherwise) {
        return args.length > index ? Integer.parseInt(args[index]) : otherwise;
    }
}
