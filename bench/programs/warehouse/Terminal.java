package warehouse;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;

/** Where transactions are typed in. */
final class Terminal implements Callable<Long> {
    private static final ThreadLocal<Random> RANDOM = ThreadLocal.withInitial(() -> new Random(99));

    private final Company company;
    private final Site site;
    private final Reporter reporter;
    private final int transactions;
    private long sold;
    private int waiting;

    Terminal(Company company, Site site, Reporter reporter, int transactions) {
        this.company = company;
        this.site = site;
        this.reporter = reporter;
        this.transactions = transactions;
    }

    @Override
    public Long call() throws InterruptedException {
        String motto = company.awaitOpening();
        Random random = RANDOM.get();
        random.setSeed(motto.length() + site.id());
        for (int count = 0; count < transactions; count++) {
            int choice = random.nextInt(100);
            if (choice < 45) {
                newOrder(random);
            } else if (choice < 88) {
                payment(random);
            } else if (choice < 96) {
                status(random);
            } else if (choice < 99) {
                waiting += site.stock().low(20);
                company.count("stock level");
            } else {
                reporter.report();
                company.count("report");
            }
        }
        return waiting < 0 ? 0 : sold;
    }

    private void newOrder(Random random) throws InterruptedException {
        District district = site.district(random.nextInt(10));
        Customer customer = district.customer(random.nextInt(30));
        List<Order.Line> lines = new ArrayList<>();
        int count = 1 + random.nextInt(5);
        for (int line = 0; line < count; line++) {
            Item item = Catalog.get().item(random.nextInt(Catalog.get().size()));
            lines.add(new Order.Line(item, 1 + random.nextInt(4)));
        }
        Order order = new Order(company.nextNumber(), customer, lines);
        district.add(order);
        customer.ordered(order);
        site.ship(order, district);
        order.setAllLocal(true);
        for (Order.Line line : order.lines()) {
            site.stock().take(line.item().id(), line.count());
        }
        sold += order.cents();
        company.count("new order");
    }

    private void payment(Random random) {
        District district = site.district(random.nextInt(10));
        long cents = district.customer(random.nextInt(30)).pay(random.nextInt(20_000));
        district.received(cents);
        company.count("payment");
    }

    private void status(Random random) {
        waiting += site.district(random.nextInt(10)).customer(random.nextInt(30)).undelivered();
        company.count("status");
    }
}
