//! What to do for a program whose `Thread` has fields of the runtime when there is no runtime that hides them.

use std::ffi::CString;
use std::ptr;

use jvmti_bindings::sys::jni::{JNIEnv, jvalue};
use unsnarl_instrument::thread::{STATE_FIELD, TOKEN_FIELD};

use super::{JvmError, check_exception, find_class, jni_functions};

/// Asks the JDK to leave the injected fields of `Thread` out where the program looks at its fields.
///
/// # Safety
/// `jni` belongs to the calling thread.
pub(super) unsafe fn fields_of_thread(jni: *mut JNIEnv) -> Result<(), JvmError> {
    const WHAT: &str = "hiding fields";
    // SAFETY: as this function asks for; the classes and methods are those of the JDK, with these descriptors, and every
    // call is followed by a look for an exception.
    unsafe {
        let table = jni_functions(jni);
        let mut names: [jvalue; 2] = [jvalue { l: ptr::null_mut() }; 2];
        for (name, field) in names.iter_mut().zip([STATE_FIELD, TOKEN_FIELD]) {
            let field = CString::new(field).unwrap_or_default();
            name.l = (table.NewStringUTF)(jni, field.as_ptr());
            check_exception(jni, WHAT)?;
        }
        let sets = find_class(jni, c"java/util/Set")?;
        let signature = c"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/util/Set;";
        let of = (table.GetStaticMethodID)(jni, sets, c"of".as_ptr(), signature.as_ptr());
        check_exception(jni, WHAT)?;
        let names = (table.CallStaticObjectMethodA)(jni, sets, of, names.as_ptr());
        check_exception(jni, WHAT)?;

        let reflection = find_class(jni, c"jdk/internal/reflect/Reflection")?;
        let (name, signature) = (c"registerFieldsToFilter", c"(Ljava/lang/Class;Ljava/util/Set;)V");
        let register =
            (table.GetStaticMethodID)(jni, reflection, name.as_ptr(), signature.as_ptr());
        check_exception(jni, WHAT)?;
        let thread = find_class(jni, c"java/lang/Thread")?;
        let arguments = [jvalue { l: thread }, jvalue { l: names }];
        (table.CallStaticVoidMethodA)(jni, reflection, register, arguments.as_ptr());
        check_exception(jni, WHAT)
    }
}
