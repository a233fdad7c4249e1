package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * The offset of the id in the instances of a class, 0 if they keep none. The topmost field counts. Objects of which it
 * lies too far behind for a cell keep none.
 */
final class UnsnarlOffsets extends ClassValue<Long> {
    static final String ID_FIELD = "unsnarlId";

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    @Override
    @Hidden
    protected Long computeValue(Class<?> type) {
        Class<?> above = type.getSuperclass();
        long inherited = above == null ? 0 : get(above);
        if (inherited != 0 || !UnsnarlNative.hasId(type.getName())) {
            return inherited;
        }
        try {
            long offset = UNSAFE.objectFieldOffset(type, ID_FIELD);
            return offset == (char) offset ? offset : 0;
        } catch (InternalError notThere) {
            // Another loader has a class of this name, and that one could be rewritten.
            return 0L;
        }
    }
}
