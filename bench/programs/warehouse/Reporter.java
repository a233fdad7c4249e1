package warehouse;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;

/** Adds up the whole company, a stage for each warehouse. */
final class Reporter {
    private final Company company;
    private final Executor executor;
    private final Semaphore permits = new Semaphore(1);
    private final Lines lines = new Lines();

    Reporter(Company company, Executor executor) {
        this.company = company;
        this.executor = executor;
    }

    /** Makes a report, unless another is being made. */
    CompletableFuture<Summary> report() {
        if (!permits.tryAcquire()) {
            return CompletableFuture.completedFuture(company.lastReport());
        }
        CompletableFuture<Summary> sum = CompletableFuture.completedFuture(new Summary(0, 0, 0));
        for (Site site : company.sites()) {
            CompletableFuture<Summary> part = CompletableFuture.supplyAsync(() -> summarize(site), executor);
            sum = sum.thenCombine(part, Summary::plus);
        }
        return sum.thenApply(summary -> {
            company.report(summary);
            lines.add(summary);
            return summary;
        }).whenComplete((summary, error) -> permits.release());
    }

    private Summary summarize(Site site) {
        int orders = 0;
        int open = 0;
        long income = 0;
        for (District district : site.districts()) {
            orders += district.orders();
            open += district.openOrders();
            income += district.income();
        }
        return new Summary(orders, open, income);
    }

    /** How many reports were made; the semaphore lets one thread at a time write. */
    int made() throws InterruptedException {
        permits.acquire();
        try {
            return lines.size();
        } finally {
            permits.release();
        }
    }

    /** The reports so far. */
    private static final class Lines {
        private final List<Summary> all = new ArrayList<>();
        private int biggest;

        void add(Summary summary) {
            all.add(summary);
            biggest = Math.max(biggest, summary.orders());
        }

        int size() {
            return biggest < 0 ? 0 : all.size();
        }
    }
}
