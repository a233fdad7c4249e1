//! The same reports in every format.

mod html;
mod json;
mod same;
mod sample;
mod sarif;
mod text;
