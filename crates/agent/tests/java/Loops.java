/** Loops over arrays, left in all ways. What they have accessed is compared with what they say without filters. */
public class Loops {
    static final int N = 40;
    final int[] field = new int[N];
    int[] changing = new int[N];
    static volatile int flag;

    int up(int[] a) {
        int sum = 0;
        for (int i = 1; i < 20; i += 3) {
            sum += a[i] + a[i + 2] * a[i - 1];
        }
        return sum;
    }

    void down(int[] a) {
        for (int i = N - 1; i >= 30; i--) {
            a[i] = i;
        }
    }

    void never(int[] a) {
        for (int i = 7; i < 7; i++) {
            a[i] = 1;
        }
    }

    int doWhile(int[] a) {
        int i = 5, sum = 0;
        do {
            sum += a[i++];
        } while (i < 9);
        return sum;
    }

    int found(int[] a, char[] b) {
        for (int i = 0; i < N; i++) {
            if (a[i] == 33) {
                return b[i];
            }
            b[i] = 2;
        }
        return -1;
    }

    int breaks(int[] a) {
        int i = 0;
        for (; i < N; i++) {
            if (i == 11) {
                break;
            }
            a[i] = 3;
        }
        return i;
    }

    int condition(int[] a) {
        int i = 10;
        while (i < N && a[i] != 31) {
            i++;
        }
        return i;
    }

    void tooFar(int[] a, char[] b) {
        for (int i = 35; ; i++) {
            b[i - 35] = 1;
            a[i] = 1;
            b[i - 25] = 1;
        }
    }

    void noArray(int[] a, char[] b) {
        for (int i = 0; i < 5; i++) {
            a[i] = 1;
            b[i] = 1;
        }
    }

    int divided(int[] a, char[] b) {
        int sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += a[i] / (4 - i) + b[i];
        }
        return sum;
    }

    int caught(int[] a, char[] b) {
        int at = 0;
        try {
            for (int i = 0; i < 50; i++) {
                at = i;
                a[i] = 5;
                b[i + 2]++;
            }
        } catch (ArrayIndexOutOfBoundsException end) {
            return at;
        } finally {
            a[0] = 6;
        }
        return -1;
    }

    void sometimes(int[] a, char[] b) {
        for (int i = 0; i < 30; i++) {
            if (i % 7 == 2) {
                continue;
            }
            if ((i & 1) == 0) {
                a[i] = 1;
            }
            b[i] = (char) (i > 20 ? a[i] : 7);
        }
    }

    void nested(int[][] m) {
        for (int i = 1; i < 5; i++) {
            int[] row = m[i];
            int[] above = m[i - 1];
            for (int j = 0; j < row.length; j += 2) {
                row[j] = above[j];
            }
        }
    }

    int ofFields() {
        int sum = 0;
        for (int i = 3; i < 12; i++) {
            sum += field[i] + changing[i];
            if (i == 8) {
                changing = new int[N];
            }
        }
        return sum;
    }

    synchronized void locked(long[] a, byte[] b, double[] c, Object[] d) {
        for (int i = 0; i < 8; i++) {
            a[i] += i;
            b[i] = (byte) a[i];
            c[i] = Math.max(c[i], b[i]);
            d[i] = null;
        }
    }

    void twoCounters(int[] a, char[] b) {
        for (int i = 0, j = 20; i < j; i++, j -= 2) {
            int kept = a[i];
            a[i] = b[j];
            b[j] = (char) kept;
        }
    }

    void longOne(byte[] a) {
        for (int i = 0; i < a.length; i++) {
            a[i] = 1;
        }
    }

    static void again(int[] a) {
        for (int round = 0; round < 1000; round++) {
            for (int i = 0; i < 10; i++) {
                a[i] += round;
            }
        }
    }

    void all() {
        int[] numbers = new int[N];
        for (int i = 0; i < N; i++) {
            numbers[i] = i;
        }
        // Behind a release all accesses are new.
        flag = 0;
        up(new int[N]);
        down(new int[N]);
        never(new int[N]);
        doWhile(new int[N]);
        found(numbers, new char[N]);
        breaks(new int[N]);
        flag = 0;
        condition(numbers);
        Runnable[] failing = {
            () -> tooFar(new int[N], new char[N]), () -> noArray(new int[N], null), () -> divided(new int[N], new char[N]),
        };
        for (Runnable each : failing) {
            try {
                each.run();
                throw new AssertionError("it should have failed");
            } catch (RuntimeException expected) {
                // On it goes.
            }
        }
        if (caught(new int[N], new char[N]) != 38) {
            throw new AssertionError("variables are not what they were");
        }
        sometimes(new int[N], new char[N]);
        nested(new int[5][6]);
        ofFields();
        locked(new long[8], new byte[8], new double[8], new Object[8]);
        twoCounters(new int[N], new char[N]);
        again(new int[N]);
    }

    static void racy(short[] shared) {
        for (int i = 0; i < shared.length; i++) {
            shared[i]++;
        }
    }

    static void clean(char[] shared) {
        synchronized (shared) {
            for (int i = 0; i < shared.length; i++) {
                shared[i]++;
            }
        }
    }

    /** The one who writes in the loop tells the other, who waits. */
    static void told(float[] shared, boolean writes) {
        if (writes) {
            for (int i = 0; i < 4; i++) {
                shared[i] = i;
            }
            flag = 1;
        } else {
            while (flag == 0) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < 4; i++) {
                shared[i] += 1;
            }
        }
    }

    /** What is in the loop besides the array tells others, so the array may not be told later. */
    static void toldInside(boolean[] shared, boolean writes) {
        for (int i = 0; i < 4; i++) {
            if (writes) {
                shared[i] = true;
                flag = 2 + i;
            } else {
                while (flag < 2 + i) {
                    Thread.onSpinWait();
                }
                shared[i] = false;
            }
        }
    }

    static void toldTooEarly(long[] shared, boolean writes) {
        for (int i = 0; i < 4; i++) {
            if (writes) {
                flag = 12 + i;
                shared[i] = 1;
            } else {
                while (flag < 12 + i) {
                    Thread.onSpinWait();
                }
                shared[i] = 2;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Loops loops = new Loops();
        loops.all();
        loops.longOne(new byte[200_000]);
        short[] racy = new short[30];
        char[] clean = new char[30];
        float[] told = new float[4];
        boolean[] inside = new boolean[4];
        long[] early = new long[4];
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            boolean writes = i == 0;
            threads[i] = new Thread(() -> {
                racy(racy);
                clean(clean);
                told(told, writes);
                toldInside(inside, writes);
                toldTooEarly(early, writes);
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
