//! The methods of the runtime that probes call. Classes in `runtime/java/lang` have them.

/// The class that has the hooks. It lies in `java.base`, so that every class can reach it.
const CLASS: &str = "java/lang/UnsnarlHooks";

/// The class that has the hooks for elements of arrays.
const ARRAYS: &str = "java/lang/UnsnarlArrays";

/// The class that has the hooks for calls of library methods and for tasks.
const CALLS: &str = "java/lang/UnsnarlCalls";

/// The class that has the hooks for accesses that are one step with their numbers.
const EXACT: &str = "java/lang/UnsnarlExact";

/// A static method of one of these classes.
#[derive(Clone, Copy)]
pub(crate) struct Hook {
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
    pub(crate) descriptor: &'static str,
}

const fn hook(name: &'static str, descriptor: &'static str) -> Hook {
    Hook { class: CLASS, name, descriptor }
}

const fn of_arrays(name: &'static str, descriptor: &'static str) -> Hook {
    Hook { class: ARRAYS, name, descriptor }
}

const fn of_calls(name: &'static str, descriptor: &'static str) -> Hook {
    Hook { class: CALLS, name, descriptor }
}

const fn exact(name: &'static str, descriptor: &'static str) -> Hook {
    Hook { class: EXACT, name, descriptor }
}

/// Before an access to a field of an object that is not volatile.
pub(crate) const FIELD_READ: Hook = hook("fieldRead", "(Ljava/lang/Object;I)V");
pub(crate) const FIELD_WRITE: Hook = hook("fieldWrite", "(Ljava/lang/Object;I)V");
/// The same for several fields of one object: the sites have the numbers after that of the probe, the last
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
pub(crate) const ARRAY_READ: Hook = of_arrays("arrayRead", "(Ljava/lang/Object;II)V");
pub(crate) const ARRAY_WRITE: Hook = of_arrays("arrayWrite", "(Ljava/lang/Object;II)V");
/// Before an array is copied as a whole.
pub(crate) const ARRAY_COPIED: Hook = of_arrays("copied", "(Ljava/lang/Object;I)V");
/// Where a loop is left, for what it has accessed in one array: the array, what the counter had at first and has in this
/// round, the last access that the round came to, step and offset and number of the access, and its site.
pub(crate) const LOOP_READ: Hook = of_arrays("loopRead", "(Ljava/lang/Object;IIIII)V");
pub(crate) const LOOP_WRITE: Hook = of_arrays("loopWrite", "(Ljava/lang/Object;IIIII)V");
/// Before an access that is one step with its number, and after it.
pub(crate) const EXACT_READ: Hook = exact("readBegins", "(Ljava/lang/Object;I)V");
pub(crate) const EXACT_WRITE: Hook = exact("writeBegins", "(Ljava/lang/Object;I)V");
pub(crate) const EXACT_STATIC_READ: Hook = exact("staticReadBegins", "(I)V");
pub(crate) const EXACT_STATIC_WRITE: Hook = exact("staticWriteBegins", "(I)V");
pub(crate) const EXACT_ELEMENT_READ: Hook = exact("elementReadBegins", "(Ljava/lang/Object;II)V");
pub(crate) const EXACT_ELEMENT_WRITE: Hook = exact("elementWriteBegins", "(Ljava/lang/Object;II)V");
pub(crate) const EXACT_ARRAY_COPIED: Hook = exact("copied", "(Ljava/lang/Object;I)V");
pub(crate) const EXACT_ENDS: Hook = exact("ends", "()V");
/// After a monitor was entered, before it is left.
pub(crate) const MONITOR_ENTERED: Hook = hook("monitorEntered", "(Ljava/lang/Object;I)V");
pub(crate) const MONITOR_LEAVES: Hook = hook("monitorLeaves", "(Ljava/lang/Object;I)V");
/// Before a call of `Object.wait`.
pub(crate) const WAITS: Hook = hook("waits", "(Ljava/lang/Object;I)V");
/// After it, however it ended.
pub(crate) const WAKES: Hook = hook("wakes", "(Ljava/lang/Object;I)V");
/// After that, if it failed.
pub(crate) const INTERRUPTED: Hook = of_calls("interrupted", "(Ljava/lang/Throwable;I)V");
/// After a call that may be one of `Object.clone`, with the original and the copy.
pub(crate) const CLONED: Hook = hook("cloned", "(Ljava/lang/Object;Ljava/lang/Object;)V");
/// Before the end of a class initializer.
pub(crate) const CLASS_INITIALIZED: Hook = hook("classInitialized", "(I)V");
/// Before all else in a method, after all else, and before what may run other methods.
pub(crate) const METHOD_ENTERS: Hook = hook("methodEnters", "(I)V");
pub(crate) const METHOD_EXITS: Hook = hook("methodExits", "(I)V");
pub(crate) const CALLER: Hook = hook("calls", "(I)V");
/// After what makes an object, with `this` or null.
pub(crate) const ALLOCATED: Hook = hook("allocated", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
/// Before a reference is stored: into an object or array, or where everybody may see it.
pub(crate) const STORED: Hook = hook("stored", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
pub(crate) const PUBLISHED: Hook = hook("published", "(Ljava/lang/Object;I)V");
/// In `java.lang.Thread`.
pub(crate) const THREAD_STARTS: Hook = hook("threadStarts", "(Ljava/lang/Thread;)V");
pub(crate) const THREAD_ENDS: Hook = hook("threadEnds", "(Ljava/lang/Thread;)V");
pub(crate) const THREAD_JOINED: Hook = hook("threadJoined", "(Ljava/lang/Thread;)V");
/// In `java.lang.ProcessImpl`.
pub(crate) const PROCESS_STARTS: Hook =
    hook("processStarts", "([Ljava/lang/String;)[Ljava/lang/String;");

/// In [`CALLS`]: whether a call is recorded, by the class of its receiver.
pub(crate) const CONSIDERS: Hook = of_calls("considers", "(Ljava/lang/Object;II)I");
/// What a call that is recorded is about.
pub(crate) const REFERENCE: Hook = of_calls("reference", "(Ljava/lang/Object;II)V");
pub(crate) const ARRAY: Hook = of_calls("array", "(Ljava/lang/Object;II)V");
pub(crate) const ELEMENTS: Hook = of_calls("elements", "(Ljava/lang/Object;II)V");
pub(crate) const TEXT: Hook = of_calls("text", "(Ljava/lang/Object;II)V");
pub(crate) const INT: Hook = of_calls("number", "(III)V");
pub(crate) const LONG: Hook = of_calls("number", "(JII)V");
pub(crate) const CALLING_THREAD: Hook = of_calls("thread", "(I)V");
/// Before a call, which gets a number.
pub(crate) const CALL_BEGINS: Hook = of_calls("begins", "(Ljava/lang/Object;II)I");
/// The same for a call that releases nothing: its number is negative.
pub(crate) const CALL_BEGINS_QUIETLY: Hook = of_calls("beginsQuietly", "(Ljava/lang/Object;II)I");
/// The same for a call that can neither wait nor release anything: where it begins is of no importance.
pub(crate) const CALL_LOOKS: Hook = of_calls("looks", "(Ljava/lang/Object;II)I");
/// After a call that returned, with what it returned.
pub(crate) const CALL_ENDS: Hook = of_calls("ends", "(I)V");
pub(crate) const CALL_ENDS_REFERENCE: Hook = of_calls("ends", "(Ljava/lang/Object;I)V");
pub(crate) const CALL_ENDS_INT: Hook = of_calls("ends", "(II)V");
pub(crate) const CALL_ENDS_LONG: Hook = of_calls("ends", "(JI)V");
/// When a call fails, with the exception.
pub(crate) const CALL_FAILS: Hook = of_calls("fails", "(Ljava/lang/Throwable;I)V");
/// At the end of a constructor, a call on the new object, or about it, that others make.
pub(crate) const CALLED_ON: Hook = of_calls("calledOn", "(Ljava/lang/Object;I)V");
pub(crate) const CALLED_WITH: Hook = of_calls("calledWith", "(Ljava/lang/Object;I)V");
/// At the beginning and the end of a method that may be a task.
pub(crate) const TASK_BEGINS: Hook = of_calls("taskBegins", "(Ljava/lang/Object;I)V");
pub(crate) const TASK_ENDS: Hook = of_calls("taskEnds", "(Ljava/lang/Object;I)V");
/// The same of a function, whose end nobody waits for alone.
pub(crate) const TASK_ENDS_QUIETLY: Hook = of_calls("taskEndsQuietly", "(Ljava/lang/Object;I)V");
/// At the end of a task that returns an object.
pub(crate) const TASK_RETURNS: Hook =
    of_calls("taskReturns", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
/// Where the bytes of a hidden class become a class.
pub(crate) const HIDDEN_CLASS: Hook = of_calls("hidden", "([B)[B");
/// In `jdk.internal.reflect.Reflection`.
pub(crate) const VISIBLE: Hook =
    hook("visible", "([Ljava/lang/reflect/Field;)[Ljava/lang/reflect/Field;");
