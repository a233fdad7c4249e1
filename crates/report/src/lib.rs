//! Renders a [`Report`](unsnarl_findings::Report): one file per format.
//!
//! A renderer is a function that writes to whatever it is given. Where that goes, and whether it is in
//! colour, is the caller's business; nothing here prints, opens a file or looks at the environment.

pub mod html;
pub mod json;
pub mod sarif;
pub mod source;
pub mod text;
mod words;
