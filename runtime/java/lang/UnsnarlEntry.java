package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.vm.annotation.Hidden;

/** The id of an object, in a bucket of {@link UnsnarlIdentity}. */
final class UnsnarlEntry extends WeakReference<Object> {
    final long id;
    final int hash;
    UnsnarlEntry next;
    /** Whether the object may be a task. */
    boolean isNamed;

    @Hidden
    UnsnarlEntry(Object object, long id, int hash, UnsnarlEntry next) {
        super(object);
        this.id = id;
        this.hash = hash;
        this.next = next;
    }
}
