//! The words of findings: how threads, sites, locks and variables are called ([`describe`], [`lock_text`]), the reasons
//! that make a finding more or less likely ([`reasons`]), how a race might be repaired ([`race_hint`]), and the part of an
//! object use graph that is shown with it ([`use_graph`]). Nothing here decides whether something is reported.

pub(crate) mod describe;
pub(crate) mod lock_text;
pub(crate) mod race_hint;
pub(crate) mod reasons;
pub(crate) mod use_graph;
