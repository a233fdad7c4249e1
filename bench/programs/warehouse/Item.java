package warehouse;

/** Something that is sold. */
record Item(int id, String name, long cents) {}
