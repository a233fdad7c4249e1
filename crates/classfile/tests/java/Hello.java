import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Enough of the language to take javac through most of its phases. */
public class Hello {
    enum Tone { FRIENDLY, BRISK }

    record Greeting(String name, Tone tone) {
        String text() {
            return switch (tone) {
                case FRIENDLY -> "hello, " + name;
                case BRISK -> name + "!";
            };
        }
    }

    static synchronized <T, R> List<R> map(List<T> values, Function<? super T, R> function) {
        return values.stream().map(function).collect(Collectors.toList());
    }

    public static void main(String[] arguments) throws Exception {
        List<Greeting> greetings =
                List.of(new Greeting("world", Tone.FRIENDLY), new Greeting("you", Tone.BRISK));
        try (AutoCloseable closing = () -> System.out.println("closed")) {
            System.out.println(String.join("; ", map(greetings, Greeting::text)));
        }
    }
}
