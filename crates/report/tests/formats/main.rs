//! The same reports in every format.

mod json;
mod sample;
mod sarif;
mod text;
