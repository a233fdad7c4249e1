//! Reading class files without copying.

mod annotation;
mod attribute;
mod class;
mod code;
mod cursor;
mod frame;
mod module;
mod pool;

pub use annotation::{
    Annotation, Element, ElementValue, LocalRange, TypeAnnotation, TypePathStep, TypeTarget,
};
pub(crate) use annotation::{annotated_type, type_target};
pub use attribute::{
    Attribute, Attributes, BootstrapMethod, InnerClass, LineNumber, LocalVariable, MethodParameter,
    RawAttribute, RecordComponent,
};
pub(crate) use attribute::{line_numbers, local_variables};
pub use class::{ClassFile, Member};
pub use code::{Code, ExceptionHandler, Instructions};
pub use cursor::Cursor;
pub use frame::StackMapFrame;
pub(crate) use frame::stack_map_table;
pub use module::{Module, ModuleExports, ModuleProvides, ModuleRequires};
pub use pool::{Constant, ConstantPool, MemberKind, MemberRef, MethodHandle};
