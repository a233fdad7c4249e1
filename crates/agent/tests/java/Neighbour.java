import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.Arrays;

/** A program with an agent of its own, which rewrites a class when it is loaded and twice again afterwards. */
public class Neighbour {
    static class Changed {
        int loadedRacy;
        int loadedOk;
        int againRacy;
        int againOk;
        int redefinedRacy;
        int redefinedOk;

        String text() {
            return "text as compiled";
        }

        void loaded(boolean racy) {
            if (racy) {
                loadedRacy++;
            } else {
                synchronized (this) {
                    loadedOk++;
                }
            }
        }

        void again(boolean racy) {
            if (racy) {
                againRacy++;
            } else {
                synchronized (this) {
                    againOk++;
                }
            }
        }

        void redefined(boolean racy) {
            if (racy) {
                redefinedRacy++;
            } else {
                synchronized (this) {
                    redefinedOk++;
                }
            }
        }
    }

    /** Replaces the constant by another one of the same length. */
    static class Transformer implements ClassFileTransformer {
        String text = "text when loaded";

        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] file) {
            return "Neighbour$Changed".equals(name) ? replaced(file, text) : null;
        }

        static byte[] replaced(byte[] file, String text) {
            String bytes = new String(file, StandardCharsets.ISO_8859_1);
            return bytes.replaceFirst("text [a-z ]{11}", text).getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    static final Transformer transformer = new Transformer();

    static class Agent {
        public static void premain(String options, Instrumentation given) {
            System.getProperties().put("neighbour", given);
        }
    }

    interface Step {
        void run(boolean racy);
    }

    static void twice(Changed it, Step step) throws InterruptedException {
        System.out.println(it.text() + " " + Arrays.toString(Changed.class.getDeclaredFields()));
        Runnable run = () -> {
            step.run(true);
            step.run(false);
        };
        Thread[] threads = {new Thread(run), new Thread(run)};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] arguments) throws Exception {
        // What the agent itself loads comes before agents behind it.
        Instrumentation instrumentation = (Instrumentation) System.getProperties().get("neighbour");
        instrumentation.addTransformer(transformer, true);
        Changed it = new Changed();
        synchronized (it) {
            it.loadedOk = 5;
        }
        twice(it, it::loaded);

        transformer.text = "text transformed";
        Class<?>[] loaded = instrumentation.getAllLoadedClasses();
        instrumentation.retransformClasses(
            Arrays.stream(loaded).filter(instrumentation::isModifiableClass).toArray(Class<?>[]::new));
        twice(it, it::again);

        instrumentation.removeTransformer(transformer);
        try (InputStream file = Neighbour.class.getResourceAsStream("Neighbour$Changed.class")) {
            byte[] bytes = Transformer.replaced(file.readAllBytes(), "text if redefine");
            instrumentation.redefineClasses(new ClassDefinition(Changed.class, bytes));
        }
        twice(it, it::redefined);
        System.out.println(new Changed().text() + it.loadedOk + it.againOk + it.redefinedOk);
    }
}
