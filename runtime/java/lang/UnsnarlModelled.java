package java.lang;

import java.util.stream.BaseStream;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.Stable;

/**
 * Which methods are modelled in a class, by their numbers; an array in an array, so that it can grow.
 *
 * <p>Most calls that may be of a modelled method are of none: those of a list, where a queue would matter. The first
 * classes of the JDK of which that turned out at a place in the code are kept for it. A compiler takes them for constant, so
 * that where it knows the receiver nothing is left of the probes.
 */
final class UnsnarlModelled extends ClassValue<byte[][]> {
    static final UnsnarlModelled CLASSES = new UnsnarlModelled();
    /**
     * Of a call that is recorded, as crates/instrument/src/recorded.rs has it: it only looks; it looks at what only calls on the same
     * object send; it lets nobody see anything. Twice as much means the same. In an answer alone: it does nothing unless it is
     * called on a parallel stream.
     */
    static final int LOOKS = 16;
    static final int COUNTED = 4;
    static final int QUIET = 64;
    static final int PARALLEL = 128;
    private static final byte NO = -1;

    private static final int PAGE_BITS = UnsnarlSites.PAGE_BITS;
    private static final int PAGES = UnsnarlSites.PAGES;

    /** Two classes for each place. */
    @Stable
    private static final Class<?>[][] SILENT = new Class<?>[PAGES][];

    private UnsnarlModelled() {}

    @Override
    @Hidden
    protected byte[][] computeValue(Class<?> type) {
        return new byte[1][0];
    }

    /** How calls of the method with the number are recorded on an object, asked at a place; 0 if they are not. */
    @ForceInline
    @Hidden
    static int on(Object receiver, int method, int site) {
        Class<?> type = receiver.getClass();
        int answer = isSilent(type, site) ? 0 : find(type, method, site);
        return answer < PARALLEL ? answer : onStream(receiver, type, answer - PARALLEL);
    }

    /** A stream of the program is not asked: that would run its code. */
    @Hidden
    private static int onStream(Object receiver, Class<?> type, int answer) {
        boolean isSequential = receiver instanceof BaseStream<?, ?> stream
                && type.getClassLoader0() == null && !stream.isParallel() && !UnsnarlNative.mayBecomeParallel();
        return isSequential ? 0 : answer;
    }

    @ForceInline
    @Hidden
    private static boolean isSilent(Class<?> type, int site) {
        Class<?>[] page = site >>> PAGE_BITS < PAGES ? SILENT[site >>> PAGE_BITS] : null;
        if (page == null) {
            return false;
        }
        int place = 2 * (site & (1 << PAGE_BITS) - 1);
        return page[place] == type || page[place + 1] == type;
    }

    @DontInline
    @Hidden
    private static int find(Class<?> type, int method, int site) {
        int answer = in(type, method);
        int number = site >>> PAGE_BITS;
        // A class that could be unloaded must not be held.
        if (answer == 0 && number < PAGES && type.getClassLoader0() == null && !type.isHidden()) {
            synchronized (SILENT) {
                if (SILENT[number] == null) {
                    SILENT[number] = new Class<?>[2 << PAGE_BITS];
                }
                Class<?>[] page = SILENT[number];
                int place = 2 * (site & (1 << PAGE_BITS) - 1);
                if (page[place] == null) {
                    page[place] = type;
                } else if (page[place + 1] == null && page[place] != type) {
                    page[place + 1] = type;
                }
            }
        }
        return answer;
    }

    @Hidden
    private static int in(Class<?> type, int method) {
        byte[][] known = CLASSES.get(type);
        byte[] answers = known[0];
        byte answer = method < answers.length ? answers[method] : 0;
        if (answer == 0) {
            answer = ask(known, type, method);
        }
        return answer == NO ? 0 : answer & 0xff;
    }

    /** Two threads that ask at the same time may forget an answer, and ask again. */
    @Hidden
    private static byte ask(byte[][] known, Class<?> type, int method) {
        byte answer = (byte) UnsnarlNative.models(method, type.getName());
        answer = answer == 0 ? NO : answer;
        byte[] before = known[0];
        byte[] answers = new byte[Math.max(before.length, method + 1)];
        System.arraycopy(before, 0, answers, 0, before.length);
        answers[method] = answer;
        known[0] = answers;
        return answer;
    }
}
