package java.lang;

import jdk.internal.vm.annotation.Hidden;

/** Which methods are modelled in a class, by their numbers; an array in an array, so that it can grow. */
final class UnsnarlModelled extends ClassValue<byte[][]> {
    static final UnsnarlModelled CLASSES = new UnsnarlModelled();
    private static final byte NO = 1;
    private static final byte YES = 2;

    private UnsnarlModelled() {}

    @Override
    @Hidden
    protected byte[][] computeValue(Class<?> type) {
        return new byte[1][0];
    }

    @Hidden
    static boolean in(Class<?> type, int method) {
        byte[][] known = CLASSES.get(type);
        byte[] answers = known[0];
        byte answer = method < answers.length ? answers[method] : 0;
        return answer != 0 ? answer == YES : ask(known, type, method);
    }

    /** Two threads that ask at the same time may forget an answer, and ask again. */
    @Hidden
    private static boolean ask(byte[][] known, Class<?> type, int method) {
        boolean modelled = UnsnarlNative.models(method, type.getName());
        byte[] before = known[0];
        byte[] answers = new byte[Math.max(before.length, method + 1)];
        System.arraycopy(before, 0, answers, 0, before.length);
        answers[method] = modelled ? YES : NO;
        known[0] = answers;
        return modelled;
    }
}
