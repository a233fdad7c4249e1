import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.CompletionHandler;
import java.nio.file.Files;
import java.nio.file.Path;

/** Pipes between threads, and channels that tell a handler what they have done; the names of the fields say what races. */
public class Streams extends Turns {
    static class Cell {
        int bytesOk;
        int bytesRacy;
        int linesOk;
        int charactersOk;
        int charactersRacy;
        int acceptOk;
        int acceptRacy;
        int connectOk;
        int readOk;
        int failedOk;
        int fileOk;
    }

    static final Cell cell = new Cell();
    static volatile int read;

    /** Tells whoever waits that it was called, by what orders nothing. */
    static <R> CompletionHandler<R, Cell> handler(Body body, String step) {
        return new CompletionHandler<>() {
            @Override
            public void completed(R result, Cell attached) {
                run();
            }

            @Override
            public void failed(Throwable failure, Cell attached) {
                run();
            }

            private void run() {
                try {
                    body.run();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                say(step);
            }
        };
    }

    static void pipes() throws Exception {
        PipedOutputStream bytes = new PipedOutputStream();
        PipedInputStream fromBytes = new PipedInputStream(bytes);
        inTurn(() -> {
            cell.bytesOk = 1;
            bytes.write(1);
            cell.bytesRacy = 1;
        }, () -> {
            fromBytes.read();
            read = cell.bytesOk + cell.bytesRacy;
        });
        PipedOutputStream lines = new PipedOutputStream();
        BufferedReader fromLines = new BufferedReader(new InputStreamReader(new PipedInputStream(lines)));
        inTurn(() -> {
            cell.linesOk = 1;
            lines.write("line\n".getBytes());
            lines.close();
        }, () -> {
            fromLines.readLine();
            read = cell.linesOk;
        });
        PipedWriter characters = new PipedWriter();
        PipedReader fromCharacters = new PipedReader(characters);
        inTurn(() -> {
            cell.charactersOk = 1;
            characters.write('c');
            cell.charactersRacy = 1;
        }, () -> {
            fromCharacters.read();
            read = cell.charactersOk + cell.charactersRacy;
        });
    }

    static void sockets() throws Exception {
        AsynchronousServerSocketChannel server = AsynchronousServerSocketChannel.open();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        String accepted = newStep();
        cell.acceptOk = 1;
        server.accept(cell, new CompletionHandler<AsynchronousSocketChannel, Cell>() {
            @Override
            public void completed(AsynchronousSocketChannel result, Cell attached) {
                read = attached.acceptOk + attached.acceptRacy;
                say(accepted);
            }

            @Override
            public void failed(Throwable failure, Cell attached) {}
        });
        cell.acceptRacy = 1;
        AsynchronousSocketChannel client = AsynchronousSocketChannel.open();
        String connected = newStep();
        cell.connectOk = 1;
        client.connect(server.getLocalAddress(), cell, handler(() -> read = cell.connectOk, connected));
        hear(accepted);
        hear(connected);
        String failed = newStep();
        cell.readOk = 1;
        client.read(ByteBuffer.allocate(1), cell, handler(() -> read = cell.readOk, failed));
        client.close();
        hear(failed);
        String closed = newStep();
        cell.failedOk = 1;
        server.close();
        server.accept(cell, handler(() -> read = cell.failedOk, closed));
        hear(closed);
    }

    static void files() throws Exception {
        Path file = Files.createTempFile("streams", ".txt");
        try (AsynchronousFileChannel channel = AsynchronousFileChannel.open(file)) {
            String step = newStep();
            cell.fileOk = 1;
            channel.read(ByteBuffer.allocate(1), 0, cell, handler(() -> read = cell.fileOk, step));
            hear(step);
        }
        Files.delete(file);
    }

    public static void main(String[] arguments) throws Exception {
        pipes();
        sockets();
        files();
    }
}
