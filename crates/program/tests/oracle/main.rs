//! The JVM as an oracle for the SSA form: programs are compiled, run in HotSpot, and run a second time
//! from their SSA bodies; results must be the same. If the lowering lost an assignment, took a value
//! from the wrong edge or mixed up the operand stack, they are not.

mod fixtures;
mod interpreter;
mod java;
mod random;
mod subroutines;
