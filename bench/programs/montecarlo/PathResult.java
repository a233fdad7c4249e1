package montecarlo;

/** What came out of a path. The worker fills it and puts it into the list. */
final class PathResult {
    private String header;
    private double finalPrice;
    private double expectedReturn;
    private double volatility;
    private double payoff;

    void setHeader(String header) {
        this.header = header;
    }

    void setFinalPrice(double finalPrice) {
        this.finalPrice = finalPrice;
    }

    void setExpectedReturn(double expectedReturn) {
        this.expectedReturn = expectedReturn;
    }

    void setVolatility(double volatility) {
        this.volatility = volatility;
    }

    void setPayoff(double payoff) {
        this.payoff = payoff;
    }

    String header() {
        return header;
    }

    double finalPrice() {
        return finalPrice;
    }

    double expectedReturn() {
        return expectedReturn;
    }

    double volatility() {
        return volatility;
    }

    double payoff() {
        return payoff;
    }
}
