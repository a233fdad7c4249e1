package warehouse;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A wholesale company. Arguments: warehouses (2), terminals of each (2), transactions of each (5000).
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        int siteCount = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        int terminals = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        int transactions = args.length > 2 ? Integer.parseInt(args[2]) : 5000;
        Company company = new Company(siteCount, 5);
        ExecutorService reports = Executors.newFixedThreadPool(2);
        Reporter reporter = new Reporter(company, reports);
        List<Driver> drivers = new ArrayList<>();
        for (Site site : company.sites()) {
            Driver driver = new Driver(company, site, drivers.size());
            drivers.add(driver);
            driver.start();
        }

        ExecutorService pool = Executors.newCachedThreadPool();
        List<Future<Long>> futures = new ArrayList<>();
        for (Site site : company.sites()) {
            for (int terminal = 0; terminal < terminals; terminal++) {
                futures.add(pool.submit(new Terminal(company, site, reporter, transactions)));
            }
        }
        company.open("We deliver");
        long sold = 0;
        for (Future<Long> future : futures) {
            sold += future.get();
        }
        pool.shutdown();
        company.close();
        int delivered = 0;
        for (Driver driver : drivers) {
            driver.join();
            delivered += driver.delivered();
        }
        int made = reporter.made();
        Summary last = reporter.report().get();
        reports.shutdown();
        boolean ended = reports.awaitTermination(10, TimeUnit.SECONDS);

        long turnover = company.sites().parallelStream()
                .flatMap(site -> site.districts().stream())
                .mapToLong(District::turnover)
                .sum();
        boolean stocked = company.sites().stream().allMatch(site -> site.stock().balance() + site.stock().total()
                == (long) Site.STOCK_OF_EACH * Catalog.get().size());
        System.out.println(last.orders() + " orders, " + delivered + " delivered, " + sold + " cents sold, "
                + last.income() + " received, " + made + " reports");
        boolean right = ended && stocked && turnover == sold && last.open() == 0 && made > 0;
        right &= last.orders() == delivered && company.lastNumber() == delivered;
        right &= company.counted() == (long) siteCount * terminals * transactions;
        System.out.println(right ? "self-check: ok" : "self-check: FAILED");
        if (!right) {
            System.exit(1);
        }
    }
}
