package warehouse;

/** Figures of a moment. */
record Summary(int orders, int open, long income) {
    Summary plus(Summary other) {
        return new Summary(orders + other.orders, open + other.open, income + other.income);
    }
}
