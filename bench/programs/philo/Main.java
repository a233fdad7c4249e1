package philo;

/** Dining philosophers. Arguments: how many philosophers (5), how many meals each (2000). */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int meals = args.length > 1 ? Integer.parseInt(args[1]) : 2000;
        Table table = new Table(count);
        Philosopher[] guests = new Philosopher[count];
        for (int seat = 0; seat < count; seat++) {
            guests[seat] = new Philosopher(table, seat, meals);
        }
        for (Philosopher guest : guests) {
            guest.start();
        }
        int sum = 0;
        for (Philosopher guest : guests) {
            guest.join();
            sum += guest.eaten();
            System.out.println("seat " + guest.seat() + " ate " + guest.eaten()
                    + (guest.wasInterrupted() ? ", interrupted" : ""));
        }
        System.out.println(table.snacks() + " snacks, " + table.waits() + " waits");
        boolean right = sum == table.snacks() && sum == count * meals && table.forkUses() == 2 * sum;
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
