//! What detectors ask of a finished execution: which accesses cannot overlap, by order or by a common lock ([`order`]),
//! and the life of one object as a graph ([`object_use_graph`]). Answers are computed when they are asked for.

pub(crate) mod object_use_graph;
pub(crate) mod order;
