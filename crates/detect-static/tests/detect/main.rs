//! The detectors on small programs, compiled by the JDK of the machine.

mod explanations;
mod java;
mod methods;
mod publications;
mod races;
mod use_graphs;
