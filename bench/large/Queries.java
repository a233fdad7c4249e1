import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Two threads ask a data base in memory, each with a connection of its own: for single rows, for groups, and for rows of two
 * tables together. Arguments: the address of the data base, and how often each thread asks (1000).
 */
public final class Queries {
    private static final int THREADS = 2;
    private static final int CUSTOMERS = 200;
    private static final int ORDERS = 4000;

    private Queries() {}

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1000;
        try (Connection connection = DriverManager.getConnection(url, "sa", "")) {
            fill(connection);
            long[] sums = new long[THREADS];
            Thread[] threads = new Thread[THREADS];
            for (int number = 0; number < THREADS; number++) {
                int own = number;
                threads[number] = new Thread(() -> sums[own] = ask(url, rounds), "client-" + number);
                threads[number].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println(sums[0] == sums[1] ? "self-check: ok, sum " + sums[0] : "self-check: FAILED");
        }
    }

    private static void fill(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table customer (id int primary key, name varchar(30), region int)");
            statement.execute("create table purchase (id int primary key, customer int, amount int)");
            statement.execute("create index purchases on purchase (customer)");
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into customer values (?, ?, ?)")) {
            for (int id = 0; id < CUSTOMERS; id++) {
                insert.setInt(1, id);
                insert.setString(2, "customer " + id);
                insert.setInt(3, id % 7);
                insert.execute();
            }
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into purchase values (?, ?, ?)")) {
            for (int id = 0; id < ORDERS; id++) {
                insert.setInt(1, id);
                insert.setInt(2, id * 31 % CUSTOMERS);
                insert.setInt(3, id % 97);
                insert.execute();
            }
        }
    }

    private static long ask(String url, int rounds) {
        String one = "select amount from purchase where id = ?";
        String groups = "select region, count(*) from customer group by region order by region";
        String both = "select sum(p.amount) from customer c join purchase p on p.customer = c.id where c.region = ?";
        long sum = 0;
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                PreparedStatement single = connection.prepareStatement(one);
                PreparedStatement grouped = connection.prepareStatement(groups);
                PreparedStatement joined = connection.prepareStatement(both)) {
            for (int round = 0; round < rounds; round++) {
                for (int row = 0; row < 20; row++) {
                    single.setInt(1, (round * 20 + row) % ORDERS);
                    sum += total(single);
                }
                sum += total(grouped);
                joined.setInt(1, round % 7);
                sum += total(joined);
            }
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
        return sum;
    }

    private static long total(PreparedStatement statement) throws SQLException {
        long sum = 0;
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                sum += rows.getLong(1);
            }
        }
        return sum;
    }
}
