import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;

/** The shapes of code that compilers make of the language. */
public class Language {
    /** Calls a method of its subclass before that has written its own fields, but for what it captures. */
    static abstract class Base {
        final String seen;

        Base() {
            seen = describe();
        }

        abstract String describe();
    }

    final String name = "outer";
    int counter;

    class Inner extends Base {
        String own = "own";

        @Override
        String describe() {
            return name + counter++ + own;
        }

        class Deeper extends Inner {
            @Override
            String describe() {
                return "deeper " + Inner.this.own + name;
            }
        }
    }

    static Base local(int captured, long[] wide) {
        class Local extends Base {
            int more = captured;

            @Override
            String describe() {
                wide[0] += captured;
                return captured + " " + wide[0] + " " + more;
            }
        }
        return new Local();
    }

    static class Chosen extends Base {
        int value;

        Chosen(boolean flag) {
            this(flag ? new int[] {1, 2}[1] : Integer.parseInt("3"));
        }

        Chosen(int value) {
            super();
            this.value = value;
            if (value > 2) {
                this.value *= 2;
            }
        }

        @Override
        String describe() {
            return "value " + value;
        }
    }

    interface Shape {
        double area();

        default Shape twice() {
            Shape self = this;
            return () -> scale(self.area());
        }

        private double scale(double by) {
            return factor() * by;
        }

        private static int factor() {
            return 2;
        }

        static Shape square(double side) {
            return () -> side * side;
        }
    }

    interface Left {
        default String side() {
            return "left";
        }
    }

    interface Right {
        default String side() {
            return "right";
        }
    }

    static class Both implements Left, Right {
        @Override
        public String side() {
            return Left.super.side() + Right.super.side();
        }
    }

    sealed interface Tree permits Leaf, Branch {}

    record Leaf(int value) implements Tree {}

    record Branch(Tree left, Tree right) implements Tree {}

    static int sum(Tree tree) {
        if (tree instanceof Leaf leaf) {
            return leaf.value();
        }
        return tree instanceof Branch branch ? sum(branch.left()) + sum(branch.right()) : 0;
    }

    enum Level { LOW, HIGH }

    static int number(String text) {
        return switch (text) {
            case "Aa", "x" -> 1;
            case "BB" -> 2;
            default -> {
                int length = text.length();
                yield length;
            }
        };
    }

    static String level(Level level) {
        switch (level) {
            case LOW:
                return "low";
            case HIGH:
                return "high";
        }
        return "none";
    }

    static String sparse(int number) {
        switch (number) {
            case -1: return "minus one";
            case 1_000_000: return "million";
            case Integer.MIN_VALUE: return "least";
            default: return "other";
        }
    }

    static class Box<T extends Comparable<T>> {
        T content;
        static int made;

        Box(T content) {
            this.content = content;
            made++;
        }

        <R extends Comparable<R>> Box<R> map(Function<? super T, R> function) {
            return new Box<>(function.apply(content));
        }
    }

    static class Bits {
        byte tiny = 127;
        char letter = 'y';
        short small = -1;
        float real = 0.1f;
        long wide = 1L << 40;
        boolean flag;

        void change() {
            tiny++;
            letter++;
            small >>>= 1;
            real += 1e10;
            wide ^= tiny;
            flag ^= true;
            flag |= flag & wide > 0;
        }
    }

    static int finallyCounts;

    static int tries(int what) {
        try {
            if (what == 0) {
                return finallyCounts++;
            }
            if (what == 1) {
                throw new IllegalStateException();
            }
        } catch (IllegalStateException e) {
            return -finallyCounts;
        } finally {
            finallyCounts += 10;
            if (what == 2) {
                finallyCounts++;
            }
        }
        return finallyCounts;
    }

    static Iterable<Integer> upTo(int end) {
        return () -> new Iterator<>() {
            int next;

            @Override
            public boolean hasNext() {
                return next < end;
            }

            @Override
            public Integer next() {
                return next++;
            }
        };
    }

    static String all(String first, Object... more) {
        return first + more.length + Arrays.deepToString(more);
    }

    public static void main(String[] arguments) throws Exception {
        Language it = new Language();
        Inner inner = it.new Inner();
        System.out.println(inner.seen + inner.describe() + inner.new Deeper().seen);
        System.out.println(local(3, new long[] {4}).seen + local(5, new long[1]).describe());
        System.out.println(new Chosen(true).seen + new Chosen(false).describe());
        Base anonymous = new Base() {
            int own = it.counter;

            @Override
            String describe() {
                return "anonymous " + own + it.counter;
            }
        };
        System.out.println(anonymous.seen + anonymous.describe());
        System.out.println(Shape.square(3).twice().area() + new Both().side());
        System.out.println(sum(new Branch(new Leaf(1), new Branch(new Leaf(2), new Leaf(3)))) + " " + new Leaf(4));
        System.out.println(number("Aa") + number("BB") + number("longer") + level(Level.HIGH) + level(Level.LOW));
        System.out.println(sparse(-1) + sparse(1_000_000) + sparse(Integer.MIN_VALUE) + sparse(0));
        System.out.println(new Box<>(3).map(number -> "n" + number).map(String::length).content + Box.made);
        Bits bits = new Bits();
        bits.change();
        bits.change();
        System.out.println(bits.tiny + " " + bits.letter + bits.small + " " + bits.real + " " + bits.wide + bits.flag);
        System.out.println(tries(0) + " " + tries(1) + " " + tries(2) + " " + tries(3));
        int total = 0;
        outer:
        for (int number : upTo(10)) {
            for (int other = 0; ; other++) {
                if (other > number) {
                    continue outer;
                }
                if (number == 7) {
                    break outer;
                }
                total += other * number;
            }
        }
        System.out.println(total + all("varargs") + all("more", 1, new int[] {2}, null));
        char c = 'c';
        String text = null;
        text += c + 1 + "" + c + 1L + 2.0f + it.counter + new int[0].length + 'd' + true + (byte) 3;
        System.out.println(text);
        String block = """
            a text
              of %d lines\
            """.formatted(2);
        System.out.println(block);
        Supplier<Supplier<String>> nested = () -> () -> block.strip() + it.name;
        System.out.println(nested.get().get());
        Function<Integer, int[]> maker = int[]::new;
        Function<String, StringBuilder> builder = StringBuilder::new;
        System.out.println(maker.apply(3).length + builder.apply("built").reverse().toString());
        long[][][] cube = new long[2][3][];
        cube[1][2] = new long[] {1, 2};
        cube[1][2][1] += cube[1][2][0]++;
        System.out.println(Arrays.deepToString(cube));
        List<Runnable> runs = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int fixed = i;
            runs.add(() -> System.out.print(fixed + it.counter++ + " "));
        }
        runs.forEach(Runnable::run);
        assert it.counter > 1000 : "assertions are off";
        System.out.println();
    }
}
