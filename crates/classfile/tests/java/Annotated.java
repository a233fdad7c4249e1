import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** A type annotation at every kind of place inside a body. */
public class Annotated {
    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        int value();

        String[] names() default {};
    }

    @interface Outer {
        Mark[] marks() default {@Mark(value = 1, names = {"a", "b"})};

        Class<?> type() default int[].class;

        ElementType kind() default ElementType.FIELD;
    }

    static <T> T same(T value) {
        return value;
    }

    public static int run(int choice) {
        @Mark(1) List<@Mark(2) String> list = new @Mark(3) ArrayList<@Mark(4) String>();
        Object object = choice > 0 ? list : "text";
        int result = object instanceof @Mark(5) List ? 10 : 20;
        try (@Mark(6) AutoCloseable resource = () -> {}) {
            Supplier<Object> supplier = @Mark(7) Object::new;
            Object cast = (@Mark(8) Object) supplier.get();
            String text = Annotated.<@Mark(9) String>same("text");
            result += text.length() + (cast == null ? 1 : 0);
            if (choice < 0) throw new IllegalStateException("negative");
        } catch (@Mark(10) IllegalStateException exception) {
            result += 100;
        } catch (@Mark(11) Exception exception) {
            result += 1000;
        }
        for (@Mark(12) int index = 0; index < choice; index++) {
            result++;
        }
        Object made = new StringBuilder(choice > 0 ? "yes" : "no").append(result);
        return result + made.toString().length();
    }
}
