package webserver;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;

/** A client that asks for random pages and counts what it gets. */
final class Client implements Callable<Client.Outcome> {
    private final int id;
    private final int port;
    private final int requests;
    private String session = "";
    private int hellos;
    private int missing;
    private int puts;
    private boolean right = true;

    Client(int id, int port, int requests) {
        this.id = id;
        this.port = port;
        this.requests = requests;
    }

    @Override
    public Outcome call() throws IOException {
        long chance = 31L * id + 7;
        int left = requests;
        while (left > 0) {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                    BufferedReader in = new BufferedReader(
                            new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
                    Writer out = new BufferedWriter(
                            new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.ISO_8859_1))) {
                for (int count = Math.min(left, 20); count > 0; count--, left--) {
                    chance = chance * 6364136223846793005L + 1442695040888963407L;
                    step((int) (chance >>> 60), left, count == 1, in, out);
                }
            }
        }
        return new Outcome(hellos, missing, puts, right);
    }

    private void step(int choice, int number, boolean last, BufferedReader in, Writer out) throws IOException {
        if (choice < 8) {
            String page = ask("GET", "/hello", "", last, in, out);
            right &= page.contains("Hello, visitor") || page.contains("Welcome, visitor");
            hellos++;
        } else if (choice < 12) {
            String text = "text " + number + " of client " + id;
            ask("PUT", "/doc/" + id, text, false, in, out);
            puts++;
            right &= ask("GET", "/doc/" + id, "", last, in, out).equals(text);
        } else if (choice < 14) {
            ask("GET", "/status", "", last, in, out);
        } else if (choice == 14) {
            ask("GET", "/reload", "", last, in, out);
        } else {
            right &= ask("GET", "/nowhere/" + number, "", last, in, out).startsWith("no ");
            missing++;
        }
    }

    private String ask(String method, String path, String body, boolean last, BufferedReader in, Writer out)
            throws IOException {
        out.write(method + " " + path + " HTTP/1.1\r\n");
        out.write("X-Session: " + session + "\r\nContent-Length: " + body.length() + "\r\n");
        if (last) {
            out.write("Connection: close\r\n");
        }
        out.write("\r\n" + body);
        out.flush();
        String line = in.readLine();
        if (line == null) {
            throw new IOException("the server has gone");
        }
        int length = 0;
        while (line != null && !line.isEmpty()) {
            if (line.startsWith("Content-Length: ")) {
                length = Integer.parseInt(line.substring("Content-Length: ".length()));
            } else if (line.startsWith("X-Session: ")) {
                session = line.substring("X-Session: ".length());
            }
            line = in.readLine();
        }
        char[] answer = new char[length];
        int read = 0;
        while (read < length) {
            int count = in.read(answer, read, length - read);
            if (count < 0) {
                throw new IOException("the answer ends early");
            }
            read += count;
        }
        return new String(answer);
    }

    /** What a client has counted. */
    record Outcome(int hellos, int missing, int puts, boolean right) {}
}
