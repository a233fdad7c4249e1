import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Code that is loaded before the classes whose fields it uses: what is reported together there depends on what the class
 * path says of them. With a folder for an argument the classes that meet come from there and not from the class path.
 */
public class Ahead {
    static final int ROUNDS = 50;

    public static void main(String[] folder) throws Exception {
        ClassLoader loader = Ahead.class.getClassLoader();
        if (folder.length > 0) {
            loader = new ChildFirst(Path.of(folder[0]).toUri().toURL(), loader);
        }
        Class.forName("Ahead$Work", true, loader).getMethod("run").invoke(null);
        System.out.println("done");
    }

    static class ChildFirst extends URLClassLoader {
        ChildFirst(URL folder, ClassLoader parent) {
            super(new URL[] {folder}, parent);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Ahead$")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : findClass(name);
            }
        }
    }

    /** Is rewritten before {@code Data} and {@code Other} are loaded. */
    public static class Work {
        static int sum;

        public static void run() throws Exception {
            Data[] all = new Data[ROUNDS];
            Other[] others = new Other[ROUNDS];
            Flag[] flags = new Flag[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                all[round] = new Data();
                others[round] = new Other();
                flags[round] = new Flag();
                others[round].one = round;
                others[round].two = round;
            }
            Thread writer = new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    publish(all[round]);
                    raise(all[round], flags[round]);
                }
            });
            Thread reader = new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    sum += take(all[round], others[round]) + await(all[round], flags[round]);
                }
            });
            writer.start();
            reader.start();
            writer.join();
            reader.join();
        }

        /** What comes behind the flag is not published by it. */
        static void publish(Data data) {
            data.firstOk = 1;
            data.secondOk = 2;
            data.inner.innerOk = 3;
            data.ready = 1;
            data.lateRacy = 3;
            data.laterRacy = data.lateRacy;
            data.inner.lateInnerRacy = 4;
        }

        /** The same with the flag in an object that is known not to be null. */
        static void raise(Data data, Flag flag) {
            int before = flag.before;
            data.flaggedOk = before;
            flag.up = 1;
            data.flaggedRacy = before;
        }

        static int await(Data data, Flag flag) {
            while (flag.up == 0) {
                Thread.onSpinWait();
            }
            return data.flaggedOk + data.flaggedRacy;
        }

        static int take(Data data, Other other) {
            while (data.ready == 0) {
                Thread.onSpinWait();
            }
            int before = data.firstOk + other.one + data.secondOk + data.inner.innerOk;
            return before + data.lateRacy + other.two + data.laterRacy + data.inner.lateInnerRacy;
        }
    }

    static class Data {
        int firstOk;
        int secondOk;
        volatile int ready;
        int lateRacy;
        int laterRacy;
        int flaggedOk;
        int flaggedRacy;
        final Inner inner = new Inner();
    }

    static class Inner {
        int innerOk;
        int lateInnerRacy;
    }

    static class Flag {
        int before;
        volatile int up;
    }

    static class Other {
        int one;
        int two;
    }
}
