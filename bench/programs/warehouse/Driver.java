package warehouse;

/** Takes what is shipped to the customers of one warehouse. */
final class Driver extends Thread {
    private final Company company;
    private final Site site;
    private final int id;
    private int delivered;

    Driver(Company company, Site site, int id) {
        super("driver-" + id);
        this.company = company;
        this.site = site;
        this.id = id;
    }

    @Override
    public void run() {
        try {
            while (true) {
                Site.Shipment shipment = site.nextShipment();
                if (shipment != null) {
                    shipment.order().deliver(id);
                    shipment.district().delivered(shipment.order());
                    delivered++;
                } else if (company.isClosing()) {
                    return;
                }
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    int delivered() {
        return delivered;
    }
}
