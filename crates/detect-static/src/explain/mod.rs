//! Explanations for `unsnarl explain`: all that is known about one [`field`] or one [`method`], and why it was or was not
//! reported. They use what the detectors use and decide nothing.

mod field;
mod method;

pub use field::explain_field;
pub use method::explain_method;
