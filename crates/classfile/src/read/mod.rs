//! Reading class files without copying.

mod attribute;
mod class;
mod code;
mod cursor;
mod pool;

pub use attribute::{Attribute, Attributes, BootstrapMethod, LineNumber, RawAttribute};
pub use class::{ClassFile, Member};
pub use code::{Code, ExceptionHandler, Instructions};
pub use cursor::Cursor;
pub use pool::{Constant, ConstantPool, MemberKind, MemberRef, MethodHandle};
