import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat with a servlet that counts its requests without a lock; four clients on loopback. */
public final class Server {
    private Server() {}

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("org.apache").setLevel(Level.OFF);
        Tomcat tomcat = new Tomcat();
        File folder = Files.createTempDirectory("tomcat").toFile();
        tomcat.setBaseDir(folder.getPath());
        tomcat.setPort(0);
        tomcat.getConnector();
        Context context = tomcat.addContext("", folder.getPath());
        Tomcat.addServlet(context, "counter", new Counter());
        context.addServletMappingDecoded("/*", "counter");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        AtomicInteger answers = new AtomicInteger();
        Thread[] clients = new Thread[4];
        for (int client = 0; client < clients.length; client++) {
            clients[client] = new Thread(() -> ask(port, answers));
            clients[client].start();
        }
        for (Thread client : clients) {
            client.join();
        }
        tomcat.stop();
        tomcat.destroy();
        System.out.println(answers.get() + " answers");
    }

    private static void ask(int port, AtomicInteger answers) {
        for (int request = 0; request < 50; request++) {
            try (InputStream in = new URL("http://127.0.0.1:" + port + "/?x=" + request).openStream()) {
                if (new String(in.readAllBytes()).equals("ok " + request)) {
                    answers.incrementAndGet();
                }
            } catch (IOException error) {
                error.printStackTrace();
            }
        }
    }

    private static final class Counter extends HttpServlet {
        private static final long serialVersionUID = 1;
        private int requests;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            requests++;
            response.getWriter().print("ok " + request.getParameter("x"));
        }
    }
}
