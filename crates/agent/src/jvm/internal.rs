//! Objects that belong to code of the JDK which is not watched.
//!
//! A watched class of the JDK serves others that are not: `java.lang` keeps lists, `java.util.concurrent` tasks. What orders
//! their accesses is not seen. So it is looked at who calls when an object is first reported from such a class; not at
//! every access, for that takes a microsecond.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex};

use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass, jint, jmethodID};
use jvmti_bindings::sys::jvmti::jvmtiEnv;

use super::{ENVIRONMENT, check, functions, guarded, jni_functions, places, stacks};
use crate::session::lock;
use crate::watch::Watch;

/// From which frame on how many are looked at, those of the runtime among them, until one tells. Mostly the first do.
const LOOKS: [(jint, jint); 3] = [(2, 7), (9, 24), (33, 223)];

/// The loader of the JDK's modules that are not in the boot loader.
const PLATFORM_LOADER: &[u8] = b"Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;";

/// Who has called, as far as the method of a frame tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// The program, which may be a tool of the JDK: what the class path or the module path has.
    Program,
    /// The JDK, in code that is not watched.
    Jdk,
    /// Whoever has called that.
    Next,
}

/// All methods that were asked for. The JVM gives no id of a method twice.
static KNOWN: LazyLock<Mutex<HashMap<usize, Caller>>> = LazyLock::new(Mutex::default);

/// `UnsnarlNative.watchesJdk`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_watchesJdk(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jboolean {
    guarded("watchesJdk", 0, |watch| watch.watches_jdk().into())
}

/// `UnsnarlNative.isInternal`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_isInternal(
    jni: *mut JNIEnv,
    _class: jclass,
) -> jboolean {
    guarded("isInternal", 0, |watch| {
        let jvmti = ENVIRONMENT.load(Ordering::Acquire);
        for (first, count) in LOOKS {
            // SAFETY: the environment lives as long as the JVM.
            let Ok(frames) = (unsafe { stacks::frames(jvmti, first, count) }) else { return 0 };
            for frame in &frames {
                // SAFETY: these are frames of the calling thread.
                match unsafe { caller(watch, jni, jvmti, frame.method) } {
                    Caller::Next => {}
                    who => return (who == Caller::Jdk).into(),
                }
            }
            if frames.len() < count as usize {
                break;
            }
        }
        0
    })
}

/// # Safety
/// Both environments belong to the calling thread, and the method is one of a frame of it.
unsafe fn caller(
    watch: &Watch,
    jni: *mut JNIEnv,
    jvmti: *mut jvmtiEnv,
    method: jmethodID,
) -> Caller {
    // SAFETY: as this function asks for.
    *lock(&KNOWN).entry(method as usize).or_insert_with(|| unsafe {
        let Some((declaring, class)) = places::declaring_class(jvmti, method) else {
            return Caller::Next;
        };
        let is_of_program = loader(jni, jvmti, declaring).is_some_and(|it| it != PLATFORM_LOADER);
        match (is_of_program, watch.passes_on(&class)) {
            (true, _) => Caller::Program,
            (false, true) => Caller::Next,
            (false, false) => Caller::Jdk,
        }
    })
}

/// The signature of the class of a class's loader; nothing for the boot loader.
///
/// # Safety
/// Both environments belong to the calling thread, and the class is alive.
unsafe fn loader(jni: *mut JNIEnv, jvmti: *mut jvmtiEnv, class: jclass) -> Option<Vec<u8>> {
    let mut loader = ptr::null_mut();
    // SAFETY: as this function asks for.
    unsafe {
        let get = functions(jvmti).GetClassLoader?;
        check("GetClassLoader", get(jvmti, class, &raw mut loader)).ok()?;
        if loader.is_null() {
            return None;
        }
        places::signature(jvmti, (jni_functions(jni).GetObjectClass)(jni, loader))
    }
}
