/** Does the same again and again: nearly all of it is redundant. */
public class Busy {
    static int total;
    int count;
    final int limit = 1000;
    final int[] numbers = new int[64];

    /** Nobody else knows the object yet. */
    Busy() {
        for (int i = 0; i < 10; i++) {
            count += i;
        }
    }

    public static void main(String[] arguments) {
        Busy it = new Busy();
        for (int i = 0; i < it.limit; i++) {
            it.count++;
            total++;
            it.numbers[i % 64] += it.count;
        }
        long[] wide = new long[50_000];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = i;
        }
    }
}
