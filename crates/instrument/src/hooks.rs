//! The methods of the runtime that probes call. `runtime/java/lang/UnsnarlHooks.java` has them.

/// The class that has the hooks. It lies in `java.base`, so that every class can reach it.
pub(crate) const CLASS: &str = "java/lang/UnsnarlHooks";

/// A static method of [`CLASS`].
#[derive(Clone, Copy)]
pub(crate) struct Hook {
    pub(crate) name: &'static str,
    pub(crate) descriptor: &'static str,
}

const fn hook(name: &'static str, descriptor: &'static str) -> Hook {
    Hook { name, descriptor }
}

/// Before an access to a field of an object that is not volatile.
pub(crate) const FIELD_READ: Hook = hook("fieldRead", "(Ljava/lang/Object;I)V");
pub(crate) const FIELD_WRITE: Hook = hook("fieldWrite", "(Ljava/lang/Object;I)V");
/// The same for several fields of one object: the sites have the numbers behind that of the probe, the last
/// argument is how many they are.
pub(crate) const FIELD_READS: Hook = hook("fieldReads", "(Ljava/lang/Object;II)V");
pub(crate) const FIELD_WRITES: Hook = hook("fieldWrites", "(Ljava/lang/Object;II)V");
/// Around a read that takes a number, and before a write that takes one.
pub(crate) const NUMBERED_READ_BEGINS: Hook = hook("numberedReadBegins", "(Ljava/lang/Object;I)V");
pub(crate) const NUMBERED_READ_ENDS: Hook = hook("numberedReadEnds", "(I)V");
pub(crate) const NUMBERED_WRITE: Hook = hook("numberedWrite", "(Ljava/lang/Object;I)V");
/// After an access to a static field.
pub(crate) const STATIC_READ: Hook = hook("staticRead", "(I)V");
pub(crate) const STATIC_WRITE: Hook = hook("staticWrite", "(I)V");
/// After a read that takes a number, before a write that takes one.
pub(crate) const NUMBERED_STATIC_READ: Hook = hook("numberedStaticRead", "(I)V");
pub(crate) const NUMBERED_STATIC_WRITE: Hook = hook("numberedStaticWrite", "(I)V");
/// Before an access to an element of an array.
pub(crate) const ARRAY_READ: Hook = hook("arrayRead", "(Ljava/lang/Object;II)V");
pub(crate) const ARRAY_WRITE: Hook = hook("arrayWrite", "(Ljava/lang/Object;II)V");
/// After a monitor was entered, before it is left.
pub(crate) const MONITOR_ENTERED: Hook = hook("monitorEntered", "(Ljava/lang/Object;I)V");
pub(crate) const MONITOR_LEAVES: Hook = hook("monitorLeaves", "(Ljava/lang/Object;I)V");
/// Instead of `Object.wait`.
pub(crate) const WAIT: Hook = hook("waitOn", "(Ljava/lang/Object;I)V");
pub(crate) const WAIT_MILLIS: Hook = hook("waitOn", "(Ljava/lang/Object;JI)V");
pub(crate) const WAIT_NANOS: Hook = hook("waitOn", "(Ljava/lang/Object;JII)V");
/// After a call that may be one of `Object.clone`, with the original and the copy.
pub(crate) const CLONED: Hook = hook("cloned", "(Ljava/lang/Object;Ljava/lang/Object;)V");
/// Before the end of a class initializer.
pub(crate) const CLASS_INITIALIZED: Hook = hook("classInitialized", "(I)V");
/// In `java.lang.Thread`.
pub(crate) const THREAD_STARTS: Hook = hook("threadStarts", "(Ljava/lang/Thread;)V");
pub(crate) const THREAD_ENDS: Hook = hook("threadEnds", "(Ljava/lang/Thread;)V");
pub(crate) const THREAD_JOINED: Hook = hook("threadJoined", "(Ljava/lang/Thread;)V");
/// In `jdk.internal.reflect.Reflection`.
pub(crate) const VISIBLE: Hook =
    hook("visible", "([Ljava/lang/reflect/Field;)[Ljava/lang/reflect/Field;");
