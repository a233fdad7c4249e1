package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * Where the id lies in the instances of a class, 0 if they keep none, and in the upper half how many words after it the
 * word of the filter lies, 0 if none is used. The topmost fields count. Objects of which they lie too far apart for a cell
 * keep none.
 */
final class UnsnarlOffsets extends ClassValue<Long> {
    static final String ID_FIELD = "unsnarlId";
    static final String SEEN_FIELD = "unsnarlSeen";

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
            long id = UNSAFE.objectFieldOffset(type, ID_FIELD);
            if (id != (char) id) {
                return 0L;
            }
            long behind = (UNSAFE.objectFieldOffset(type, SEEN_FIELD) - id) / Long.BYTES;
            return id | (behind == (byte) behind ? behind & 0xFF : 0) << Integer.SIZE;
        } catch (InternalError notThere) {
            // Another loader has a class of this name, and that one could be rewritten.
            return 0L;
        }
    }
}
