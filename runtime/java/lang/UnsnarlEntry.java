package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.vm.annotation.Hidden;

/** The id of an object, in a bucket of {@link UnsnarlIdentity}. */
final class UnsnarlEntry extends WeakReference<Object> {
    final long id;
    final int hash;
    /** Whether code of the JDK that is not watched had it first: what that does with it cannot be understood. */
    final boolean internal;
    UnsnarlEntry next;
    /** Whether the object may be a task. */
    boolean isNamed;
    /** Of a class: whether its name was recorded. */
    volatile boolean isDescribed;

    @Hidden
    UnsnarlEntry(Object object, long id, int hash, boolean internal, UnsnarlEntry next) {
        super(object);
        this.id = id;
        this.hash = hash;
        this.internal = internal;
        this.next = next;
    }
}
