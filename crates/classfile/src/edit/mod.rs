//! Changing class files.
//!
//! A [`ClassEditor`] is opened from bytes. What is not touched is copied verbatim: the constant pool
//! keeps its bytes and its indices and only grows, members and attributes are taken over as they are,
//! so that a class without changes is written back byte for byte.
//!
//! A method body is opened as a [`CodeEditor`]: a linked list of instructions and labels with stable
//! ids. Everything that names a place in the code (jumps, handlers, line numbers, variables, frames,
//! type annotations) names a label or an instruction there, and follows when the body is written with
//! [`ClassEditor::set_code`].
//!
//! ```
//! use unsnarl_classfile::edit::ClassEditor;
//!
//! fn watch_entries(file: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let mut class = ClassEditor::open(file)?;
//!     for method in class.methods.keys() {
//!         let Some(mut code) = class.open_code(method)? else { continue };
//!         if let Some(first) = code.first_instruction() {
//!             code.before(first, &mut class.pool).invoke_static("app/Hook", "enter", "()V")?;
//!         }
//!         class.set_code(method, &code)?;
//!     }
//!     Ok(class.write()?)
//! }
//! ```

mod attributes;
mod builder;
mod catch;
mod class;
mod code;
mod emit;
mod encode;
mod error;
mod frames;
mod known;
mod layout;
mod open;
mod pool;
mod simulate;

pub use attributes::AttributeList;
pub use builder::Inserter;
pub use class::{ClassEditor, FieldId, MemberEditor, MethodId};
pub use code::{CodeEditor, Handler, HandlerId, LabelId, NodeId};
pub use error::{CodeError, EditError, PoolError};
pub use known::KnownTypes;
pub use pool::PoolEditor;

/// Appends two bytes, high byte first.
fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

/// Appends four bytes, high byte first.
fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_be_bytes());
}
