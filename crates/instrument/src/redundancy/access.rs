//! What becomes of an access, by what is known when the walk comes to it.

use std::collections::{HashMap, HashSet};

use unsnarl_classfile::ConstantIndex;
use unsnarl_classfile::edit::NodeId;
use unsnarl_recording::Volatility;

use super::{Value, Variable, Walk};
use crate::plan::may_coalesce;

/// What becomes of the accesses to fields of objects in a method.
#[derive(Debug, Default)]
pub(crate) struct Redundancy {
    /// These need no probe, at least not of their own.
    pub(crate) unprobed: HashSet<NodeId>,
    /// The probe of the first reports the others with it.
    pub(crate) together: HashMap<NodeId, Together>,
    /// These need their own probes only as long as it is not known whether assumptions hold.
    pub(crate) conditional: HashMap<NodeId, Condition>,
}

/// Accesses after another one that are reported with it.
#[derive(Debug, Default)]
pub(crate) struct Together {
    pub(crate) others: Vec<NodeId>,
    /// What was assumed, if all of them are conditional.
    pub(crate) condition: Option<Vec<Assumed>>,
}

/// When an access needs no probe of its own.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) assumed: Vec<Assumed>,
    /// The access whose probe reports it; if none does, it has been reported before or will be by a write.
    pub(crate) leader: Option<NodeId>,
}

/// A field of a class that was not loaded yet.
pub(crate) type Assumed = (ConstantIndex, Volatility);

/// What is known of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) volatility: Volatility,
    pub(crate) is_assumed: bool,
    /// Only fields of one group are reported together.
    pub(crate) group: u64,
}

/// A read that a write may follow.
#[derive(Clone, Copy)]
pub(super) struct OpenRead {
    leader: NodeId,
    node: NodeId,
    loads: usize,
}

impl Walk<'_> {
    /// An access to a plain field.
    pub(super) fn access(&mut self, node: NodeId, variable: Variable, is_write: bool, group: u64) {
        let written = self.facts.written.get(&variable);
        let known = written.or_else(|| self.facts.read.get(&variable).filter(|_| !is_write));
        if let Some(&loads) = known {
            self.leave_out(node, loads);
            return;
        }
        if is_write {
            self.facts.written.insert(variable, self.facts.loads);
            if let Some(read) = self.open_reads.remove(&variable) {
                self.drop_read(read);
            }
        } else {
            self.facts.read.insert(variable, self.facts.loads);
        }
        let key = (variable.0, is_write, group);
        let (leader, loads) = *self.open.entry(key).or_insert((node, self.facts.loads));
        if leader != node {
            let is_certain = self.is_certain_since(loads);
            let together = self.found.together.entry(leader).or_default();
            together.others.push(node);
            if !is_certain || together.condition.is_some() {
                together.condition = Some(self.facts.assumed.clone());
            }
            self.found.unprobed.insert(node);
        }
        if !is_write {
            let read = OpenRead { leader, node, loads: self.facts.loads };
            self.open_reads.insert(variable, read);
        }
    }

    /// An access to an element of an array.
    pub(super) fn element(&mut self, node: NodeId, element: (Value, Value), is_write: bool) {
        if !may_coalesce(self.filters) {
            return;
        }
        let now = self.facts.loads;
        let known = self.facts.elements.get(&element).copied();
        match known {
            Some((loads, written)) if written || !is_write => {
                if self.is_certain_since(loads) {
                    self.found.unprobed.insert(node);
                }
            }
            _ => {
                self.facts.elements.insert(element, (now, is_write));
            }
        }
    }

    /// Whether nothing was assumed, and nothing may have been loaded since.
    fn is_certain_since(&self, loads: usize) -> bool {
        self.facts.assumed.is_empty() && loads == self.facts.loads
    }

    /// An access that says nothing new because of another one.
    fn leave_out(&mut self, node: NodeId, loads: usize) {
        if self.is_certain_since(loads) {
            self.found.unprobed.insert(node);
        } else {
            self.found.unprobed.remove(&node);
            let condition = Condition { assumed: self.facts.assumed.clone(), leader: None };
            self.found.conditional.insert(node, condition);
        }
    }

    /// A read before a certain write. If others are reported by its probe, it is reported with them.
    fn drop_read(&mut self, OpenRead { leader, node, loads }: OpenRead) {
        if leader != node {
            if let Some(together) = self.found.together.get_mut(&leader) {
                together.others.retain(|&other| other != node);
            }
            self.leave_out(node, loads);
        } else if self.is_certain_since(loads) {
            self.dropped.push(node);
        } else {
            self.leave_out(node, loads);
        }
    }
}
