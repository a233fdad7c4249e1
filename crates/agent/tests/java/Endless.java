/** Writes a field a thousand times, says so, and goes on until it is killed. */
public class Endless {
    long value;

    public static void main(String[] arguments) {
        Endless it = new Endless();
        for (int round = 1; ; round++) {
            for (int i = 0; i < 1000; i++) {
                it.value = i;
            }
            System.out.println(round);
        }
    }
}
