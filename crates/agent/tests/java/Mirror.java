import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** What a program can learn about its classes and objects: by serialization, reflection and copies. */
public class Mirror {
    static class Computed implements Serializable {
        int number = 3;
        private String text = "text";
        transient Object lock = new Object();

        static final int[] NUMBERS = {1, 2};

        synchronized int next() {
            return ++number;
        }

        private void hidden(long wide, String... more) {}
    }

    static class Below extends Computed {
        long more = 5;
    }

    static class Explicit implements Serializable {
        private static final long serialVersionUID = 42;
        volatile boolean flag = true;
        final List<String> words = List.of("a", "b");
    }

    static class Custom implements Serializable {
        int twice = 2;

        private void writeObject(ObjectOutputStream out) throws java.io.IOException {
            out.defaultWriteObject();
            out.writeInt(2 * twice);
        }

        private void readObject(ObjectInputStream in) throws java.io.IOException, ClassNotFoundException {
            in.defaultReadObject();
            twice = in.readInt();
        }
    }

    enum Colour implements Serializable {
        RED,
        GREEN {
            @Override
            int value() {
                return 7;
            }
        };

        int uses;

        int value() {
            return ++uses;
        }
    }

    record Pair(String name, int[] numbers) implements Serializable {
        Pair {
            numbers = numbers.clone();
        }

        Pair(String name) {
            this(name, new int[] {1});
        }
    }

    static class Sheet implements Cloneable {
        int[] cells = {1, 2};
        String name = "sheet";

        @Override
        public Sheet clone() throws CloneNotSupportedException {
            Sheet copy = (Sheet) super.clone();
            copy.cells = cells.clone();
            return copy;
        }
    }

    static class NoCopies {
        Object tried() throws CloneNotSupportedException {
            return clone();
        }
    }

    interface Greeter {
        String name();

        private String greeting() {
            return "hello ";
        }

        default String greet() {
            return greeting() + name();
        }

        static Greeter of(String name) {
            return () -> name;
        }
    }

    public static void main(String[] arguments) throws Throwable {
        for (Object it : new Object[] {new Computed(), new Below(), new Explicit(), new Custom(),
                Colour.GREEN, new Pair("pair")}) {
            serialize(it);
        }
        Class<?>[] classes = {Mirror.class, Computed.class, Below.class, Explicit.class, Colour.class,
            Colour.GREEN.getClass(), Pair.class, Sheet.class, Greeter.class, Greeter.of("").getClass(),
            Thread.class, Class.forName("java.lang.ThreadLocal"), java.util.Vector.class};
        for (Class<?> type : classes) {
            describe(type);
        }
        lookups();
        copies();
        Greeter greeter = Greeter.of("you");
        System.out.println(greeter.greet() + greeter.getClass().isHidden() + greeter.getClass().isSynthetic());
    }

    static void serialize(Object it) throws Exception {
        ObjectStreamClass type = ObjectStreamClass.lookup(it.getClass());
        System.out.println(type + " " + Arrays.toString(type.getFields()));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ObjectOutputStream out = new ObjectOutputStream(bytes);
        out.writeObject(it);
        out.flush();
        System.out.println(Base64.getEncoder().encodeToString(bytes.toByteArray()));
        Object again = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        System.out.println(again.getClass() + " " + (again == it));
        synchronized (again) {
            again.notifyAll();
        }
    }

    static void describe(Class<?> type) throws Exception {
        System.out.println(masked(type.toGenericString()) + " " + type.getModifiers());
        print(type.getDeclaredFields());
        print(type.getFields());
        print(type.getDeclaredMethods());
        print(type.getDeclaredConstructors());
        print(type.getDeclaredClasses());
        for (String name : new String[] {"unsnarlId", "unsnarlSeen", "unsnarlState", "unsnarlToken"}) {
            try {
                System.out.println(type.getDeclaredField(name));
            } catch (NoSuchFieldException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    static void print(Object[] members) {
        String[] texts = Arrays.stream(members).map(Mirror::text).sorted().toArray(String[]::new);
        System.out.println(texts.length + " " + masked(String.join("\n  ", texts)));
    }

    /** The addresses in the names of lambda classes differ from run to run. */
    static String masked(String text) {
        return text.replaceAll("\\$\\$Lambda[^ .(]*", "Lambda");
    }

    static String text(Object member) {
        if (member instanceof Field field) {
            return field.toGenericString() + field.isSynthetic() + Modifier.toString(field.getModifiers());
        }
        return member.toString();
    }

    static void lookups() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(Computed.class, MethodHandles.lookup());
        VarHandle number = lookup.findVarHandle(Computed.class, "number", int.class);
        Computed computed = new Computed();
        number.getAndAdd(computed, 4);
        System.out.println(computed.next() + " " + number.get(computed));
        System.out.println(lookup.findVirtual(Computed.class, "next",
            java.lang.invoke.MethodType.methodType(int.class)));
        try {
            lookup.findGetter(Computed.class, "missing", int.class);
        } catch (NoSuchFieldException e) {
            System.out.println(e.getMessage());
        }
        Field text = Computed.class.getDeclaredField("text");
        text.setAccessible(true);
        text.set(computed, "set");
        System.out.println(lookup.unreflectGetter(text).invoke(computed));
        Method hidden = Computed.class.getDeclaredMethod("hidden", long.class, String[].class);
        System.out.println(hidden.isVarArgs() + " " + hidden.invoke(computed, 1L, new String[0]));
        try {
            Computed.class.getDeclaredMethod("next").invoke(null);
        } catch (NullPointerException e) {
            System.out.println(e.getStackTrace()[e.getStackTrace().length - 1]);
        }
    }

    static void copies() throws Exception {
        Sheet sheet = new Sheet();
        synchronized (sheet) {
            sheet.cells[0] = 9;
        }
        Sheet copy = sheet.clone();
        copy.cells[1] = 8;
        synchronized (copy) {
            copy.name += " copied";
        }
        System.out.println(Arrays.toString(sheet.cells) + Arrays.toString(copy.cells) + copy.name);
        try {
            new NoCopies().tried();
        } catch (CloneNotSupportedException e) {
            System.out.println(e + " " + e.getStackTrace()[1]);
        }
        Pair pair = new Pair("pair");
        System.out.println(pair.name() + pair.numbers()[0] + pair.equals(new Pair("pair"))
            + Arrays.toString(Pair.class.getRecordComponents()));
        System.out.println(Colour.GREEN.value() + Colour.RED.value() + Colour.valueOf("RED").uses
            + Arrays.toString(Colour.values()) + new java.util.EnumMap<>(java.util.Map.of(Colour.RED, 1)));
        try {
            Colour.valueOf("BLUE");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
    }
}
