/** Constructors that set fields before they call another one, as JDK 25 allows it. */
public class EarlyFields {
    static class Above {
        Above() {
            describe();
        }

        void describe() {}
    }

    static class Below extends Above {
        int first;
        int second;
        long third;

        Below(int value) {
            first = value;
            second = value + 1;
            third = first() + value;
            super();
            first++;
            third++;
        }

        static int first() {
            return 7;
        }

        @Override
        void describe() {
            System.out.println(first + " " + second + " " + third);
        }
    }

    public static void main(String[] arguments) {
        new Below(3).describe();
    }
}
