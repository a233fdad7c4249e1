import java.nio.file.Files;
import java.nio.file.Path;

/** Loads and links every class of a list of lines `module class`, and counts what the JVM says. */
class Load {
    public static void main(String[] arguments) throws Exception {
        int linked = 0;
        int refused = 0;
        int other = 0;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            int space = line.indexOf(' ');
            String name = line.substring(space + 1);
            try {
                Module module = ModuleLayer.boot().findModule(line.substring(0, space)).get();
                Class<?> loaded = Class.forName(module, name);
                if (loaded == null) throw new ClassNotFoundException(name);
                loaded.getDeclaredConstructors(); // the JVM links a class before it lists its members
                linked++;
            } catch (VerifyError | ClassFormatError error) {
                refused++;
                if (refused <= 20) System.out.println(name + ": " + error);
            } catch (Throwable error) {
                other++;
                if (other <= 20) System.out.println(name + ": " + error);
            }
        }
        System.out.println("linked " + linked + " refused " + refused + " other " + other);
    }
}
