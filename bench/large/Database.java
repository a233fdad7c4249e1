import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Four threads insert into one table, each with a connection of its own; then the rows are counted. */
public final class Database {
    private static final int THREADS = 4;
    private static final int ROWS = 500;

    private Database() {}

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key, name varchar(50), kind int)");
            Thread[] threads = new Thread[THREADS];
            for (int thread = 0; thread < THREADS; thread++) {
                int first = thread * ROWS;
                threads[thread] = new Thread(() -> insert(url, first));
                threads[thread].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            String query = "select kind, count(*), max(name) from t group by kind order by kind";
            try (ResultSet rows = statement.executeQuery(query)) {
                while (rows.next()) {
                    System.out.println(rows.getInt(1) + " " + rows.getInt(2) + " " + rows.getString(3));
                }
            }
        }
    }

    private static void insert(String url, int first) {
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                PreparedStatement insert = connection.prepareStatement("insert into t values (?, ?, ?)")) {
            for (int row = first; row < first + ROWS; row++) {
                insert.setInt(1, row);
                insert.setString(2, "name" + row);
                insert.setInt(3, row % 7);
                insert.execute();
            }
        } catch (SQLException error) {
            error.printStackTrace();
        }
    }
}
