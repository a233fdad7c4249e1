//! What is known at a place of the code, and what of it is left where ways meet.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use unsnarl_classfile::edit::{CodeEditor, LabelId};
use unsnarl_classfile::{Instruction, Opcode};

use super::access::Assumed;
use super::effect::{is_store, jumps};
use super::{Value, Variable};

/// What is known at a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) locals: HashMap<u16, Value>,
    pub(super) finals: HashMap<Variable, Value>,
    pub(super) not_null: HashSet<Value>,
    /// Classes that were resolved: they need not be loaded again.
    pub(super) resolved: HashSet<Vec<u8>>,
    /// What values and redundancy rely on.
    pub(super) assumed: Vec<Assumed>,
    /// How often a class may have been loaded, in the order of the text.
    pub(super) loads: usize,
    /// Accesses since the last instruction that may release, with how often classes may have been loaded until then.
    pub(super) read: HashMap<Variable, usize>,
    pub(super) written: HashMap<Variable, usize>,
    /// The same of elements, by array and index, and whether they were written.
    pub(super) elements: HashMap<(Value, Value), (usize, bool)>,
}

/// More than this is not kept for other ways: methods that need it are made by programs.
const MOST: usize = 128;

impl Facts {
    /// Something may have been released.
    pub(super) fn release(&mut self) {
        self.read.clear();
        self.written.clear();
        self.elements.clear();
    }

    /// Nothing is known but how often classes may have been loaded.
    pub(super) fn clear(&mut self) {
        *self = Self { loads: self.loads, ..Self::default() };
    }

    pub(super) fn are_few(&self) -> bool {
        let values = self.locals.len() + self.finals.len() + self.not_null.len();
        values + self.read.len() + self.written.len() + self.elements.len() < MOST
    }

    /// Keeps what is known on another way as well. Where a class may have been loaded on one of them alone, the first time
    /// may be a later one than that of an access after: no access is known then.
    pub(super) fn meet(&mut self, other: &Self) {
        keep_same(&mut self.locals, &other.locals);
        keep_same(&mut self.finals, &other.finals);
        self.not_null.retain(|value| other.not_null.contains(value));
        self.resolved.retain(|class| other.resolved.contains(class));
        for assumed in &other.assumed {
            if !self.assumed.contains(assumed) {
                self.assumed.push(*assumed);
            }
        }
        if self.loads != other.loads {
            self.release();
        }
        keep_earliest(&mut self.read, &other.read);
        keep_earliest(&mut self.written, &other.written);
        self.elements.retain(|element, known| match other.elements.get(element) {
            None => false,
            Some(also) => {
                *known = (known.0.min(also.0), known.1 && also.1);
                true
            }
        });
        self.loads = self.loads.max(other.loads);
        let accesses = self.read.len() + self.written.len() + self.elements.len();
        if accesses + self.finals.len() == 0 {
            // Nothing is left that relies on anything.
            self.assumed.clear();
        }
    }
}

fn keep_same<K: Eq + Hash>(map: &mut HashMap<K, Value>, other: &HashMap<K, Value>) {
    map.retain(|key, value| other.get(key) == Some(value));
}

fn keep_earliest(map: &mut HashMap<Variable, usize>, other: &HashMap<Variable, usize>) {
    map.retain(|variable, loads| match other.get(variable) {
        None => false,
        Some(also) => {
            *loads = *also.min(loads);
            true
        }
    });
}

/// How control comes to the labels of a method, by the places of its nodes.
#[derive(Debug)]
pub(super) struct Ways {
    labels: HashMap<LabelId, Target>,
    /// From where to where is jumped, and from where last to each place that is jumped back to.
    jumps: Vec<(usize, usize)>,
    ends: HashMap<usize, usize>,
    /// The variables that are assigned.
    stores: Vec<(usize, u16)>,
    has_subroutines: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Target {
    place: usize,
    is_jumped_to: bool,
    is_handler: bool,
}

/// What may be known at a label.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// What is known before it: nothing jumps here.
    None,
    /// Nothing.
    Unknown,
    /// What is known on all ways that lead here.
    OfAll,
    /// The same but for the variables that are assigned up to a place: here begins a loop that releases nothing.
    Loop { end: usize, assigned: Vec<u16> },
}

impl Ways {
    pub(super) fn new(code: &CodeEditor) -> Self {
        let mut labels: HashMap<LabelId, Target> = HashMap::new();
        let (mut jumps_by_label, mut stores) = (Vec::new(), Vec::new());
        let mut has_subroutines = false;
        for (place, node) in code.nodes().enumerate() {
            if let Some(label) = code.label(node) {
                labels.entry(label).or_default().place = place;
            }
            let Some(instruction) = code.instruction(node) else { continue };
            jumps_by_label.extend(jumps(instruction).into_iter().map(|target| (place, target)));
            match *instruction {
                Instruction::Local { opcode: Opcode::Ret, .. }
                | Instruction::Jump { opcode: Opcode::Jsr | Opcode::JsrW, .. } => {
                    has_subroutines = true;
                }
                Instruction::Local { opcode, local } if is_store(opcode) => {
                    // A long or double has the next one as well.
                    stores.extend([(place, local), (place, local.saturating_add(1))]);
                }
                Instruction::Increment { local, .. } => stores.push((place, local)),
                _ => {}
            }
        }
        for (_, handler) in code.handlers() {
            labels.entry(handler.handler).or_default().is_handler = true;
        }
        for &(_, target) in &jumps_by_label {
            labels.entry(target).or_default().is_jumped_to = true;
        }
        let place = |label| labels.get(&label).map_or(0, |target: &Target| target.place);
        let jumps: Vec<(usize, usize)> =
            jumps_by_label.into_iter().map(|(from, to)| (from, place(to))).collect();
        let mut ends = HashMap::new();
        for &(from, to) in jumps.iter().filter(|(from, to)| from > to) {
            let end = ends.entry(to).or_insert(from);
            *end = from.max(*end);
        }
        Self { labels, jumps, ends, stores, has_subroutines }
    }

    /// What may be known at a label. `releasing` are the places that may release something, if
    /// that is known.
    pub(super) fn at(&self, label: LabelId, releasing: Option<&[usize]>) -> Meeting {
        let Some(&Target { place, is_jumped_to, is_handler }) = self.labels.get(&label) else {
            return Meeting::None;
        };
        if is_handler || self.has_subroutines && is_jumped_to {
            return Meeting::Unknown;
        }
        if !is_jumped_to {
            return Meeting::None;
        }
        let Some(&end) = self.ends.get(&place) else { return Meeting::OfAll };
        let is_inside = |at: usize| place < at && at <= end;
        let is_entered = |&(from, to): &(usize, usize)| is_inside(to) && !is_inside(from);
        let mut handlers = self.labels.values().filter(|target| target.is_handler);
        if self.jumps.iter().any(is_entered)
            || handlers.any(|handler| is_inside(handler.place))
            || releasing.is_none_or(|releasing| releasing.iter().any(|&at| is_inside(at)))
        {
            return Meeting::Unknown;
        }
        let stores = self.stores.iter().filter(|&&(at, _)| is_inside(at));
        Meeting::Loop { end, assigned: stores.map(|&(_, local)| local).collect() }
    }
}
