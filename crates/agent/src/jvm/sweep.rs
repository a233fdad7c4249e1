//! Which objects live: the heap is looked through for the fields that hold ids.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jlong, jvalue};
use jvmti_bindings::sys::jvmti::{
    JVMTI_HEAP_FILTER_CLASS_UNTAGGED, JVMTI_PRIMITIVE_TYPE_LONG, jvmtiEnv, jvmtiHeapCallbacks,
    jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind, jvmtiPrimitiveType,
};

use super::{ENVIRONMENT, JvmError, check, functions, guarded};

/// What stands in the upper 16 bits above an id in a field, as `UnsnarlIdentity` has it; between the two are flags.
const MARK: u64 = 0x5EA1;
const MARK_PLACE: u32 = 48;
const ID_BITS: u32 = 46;

/// The tag of classes whose instances may have ids.
const HAS_INSTANCES: jlong = 1;

/// `UnsnarlNative.hasInstances`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_hasInstances(
    _jni: *mut JNIEnv,
    _class: jclass,
    class: jclass,
) {
    guarded("hasInstances", (), |watch| {
        let env = ENVIRONMENT.load(Ordering::Acquire);
        // SAFETY: the environment lives as long as the JVM, and the class during the call.
        let result = unsafe {
            functions(env)
                .SetTag
                .ok_or(JvmError::NoFunction("SetTag"))
                .and_then(|set| check("SetTag", set(env, class, HAS_INSTANCES)))
        };
        if let Err(error) = result {
            watch.session.log(&format!("objects that die are not told: {error}"));
        }
    });
}

/// How often the garbage collector has told that it has run.
static COLLECTIONS: AtomicI64 = AtomicI64::new(0);

/// The garbage collector has run. Nothing of the JVM may be asked here.
pub(super) unsafe extern "system" fn collected(_env: *mut jvmtiEnv) {
    COLLECTIONS.fetch_add(1, Ordering::Relaxed);
}

/// `UnsnarlNative.collections`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_collections(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jlong {
    COLLECTIONS.load(Ordering::Relaxed)
}

/// `UnsnarlNative.sweepEvery`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_sweepEvery(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jlong {
    guarded("sweepEvery", jlong::MAX, |watch| watch.sweep_every.into())
}

/// `UnsnarlNative.sweepPause`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_sweepPause(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jlong {
    guarded("sweepPause", 0, |watch| watch.sweep_pause.into())
}

/// `UnsnarlNative.sweep`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_sweep(
    _jni: *mut JNIEnv,
    _class: jclass,
    number: jlong,
    address: jlong,
    count: jlong,
) -> jlong {
    guarded("sweep", -1, |watch| {
        // SAFETY: the runtime has written so many words there, and frees them after the call.
        let in_table = unsafe {
            std::slice::from_raw_parts(
                address as usize as *const u64,
                count.unsigned_abs() as usize,
            )
        };
        let mut living = in_table.to_vec();
        // SAFETY: as the JVM calls this function.
        let swept = unsafe { ids_in_fields(&mut living) }.map_err(|error| error.to_string());
        let written = swept.and_then(|()| {
            let number = number.cast_unsigned();
            watch.session.write_living(number, &living).map_err(|error| error.to_string())
        });
        match written {
            Ok(()) => living.len() as jlong,
            Err(error) => {
                watch.session.log(&format!("objects that die are not told: {error}"));
                -1
            }
        }
    })
}

/// Appends the ids of all objects that keep theirs.
///
/// # Safety
/// The calling thread is one of the running JVM.
unsafe fn ids_in_fields(living: &mut Vec<u64>) -> Result<(), JvmError> {
    let env = ENVIRONMENT.load(Ordering::Acquire);
    let callbacks =
        jvmtiHeapCallbacks { primitive_field_callback: Some(field), ..Default::default() };
    // SAFETY: the environment lives as long as the JVM; `field` gets the list, which nobody else has meanwhile.
    unsafe {
        let iterate =
            functions(env).IterateThroughHeap.ok_or(JvmError::NoFunction("IterateThroughHeap"))?;
        let filter = JVMTI_HEAP_FILTER_CLASS_UNTAGGED;
        let list = ptr::from_mut(living).cast::<c_void>();
        check(
            "IterateThroughHeap",
            iterate(env, filter, ptr::null_mut(), &raw const callbacks, list),
        )
    }
}

/// A field of an object. A number of the program that looks like an id only makes a dead object count as a living one.
unsafe extern "system" fn field(
    _kind: jvmtiHeapReferenceKind,
    _info: *const jvmtiHeapReferenceInfo,
    _class_tag: jlong,
    _object_tag: *mut jlong,
    value: jvalue,
    value_type: jvmtiPrimitiveType,
    list: *mut c_void,
) -> jint {
    if value_type == JVMTI_PRIMITIVE_TYPE_LONG {
        // SAFETY: the type says which of the values it is, and `list` is what `ids_in_fields` passed.
        unsafe {
            let value = value.j.cast_unsigned();
            if value >> MARK_PLACE == MARK {
                (*list.cast::<Vec<u64>>()).push(value & ((1 << ID_BITS) - 1));
            }
        }
    }
    0
}
