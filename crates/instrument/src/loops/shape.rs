//! The text of a method by the places of its instructions, and the loops in it.

use std::collections::HashMap;

use unsnarl_classfile::edit::{CodeEditor, LabelId, NodeId};
use unsnarl_classfile::{Instruction, Opcode};

use super::Exit;
use crate::method::is_return;
use crate::redundancy::jumps;

/// The instructions of a method with the jumps between them.
pub(super) struct Text<'m> {
    pub(super) code: &'m CodeEditor,
    instructions: Vec<(NodeId, &'m Instruction<LabelId>)>,
    /// The instruction after each label.
    places: HashMap<LabelId, usize>,
    /// From where to where is jumped.
    edges: Vec<(usize, usize)>,
}

/// The places of a loop's instructions, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Region {
    fn contains(&self, place: usize) -> bool {
        (self.first..=self.last).contains(&place)
    }
}

impl<'m> Text<'m> {
    pub(super) fn new(code: &'m CodeEditor) -> Self {
        let mut places = HashMap::new();
        let mut instructions = Vec::new();
        for node in code.nodes() {
            if let Some(label) = code.label(node) {
                places.insert(label, instructions.len());
            } else if let Some(instruction) = code.instruction(node) {
                instructions.push((node, instruction));
            }
        }
        let mut edges = Vec::new();
        for (place, (_, instruction)) in instructions.iter().enumerate() {
            let targets = jumps(instruction).into_iter().filter_map(|label| places.get(&label));
            edges.extend(targets.map(|&target| (place, target)));
        }
        Self { code, instructions, places, edges }
    }

    pub(super) fn within(&self, region: &Region) -> &[(NodeId, &'m Instruction<LabelId>)] {
        &self.instructions[region.first..=region.last]
    }

    /// Loops that contain no other, that nothing jumps into, and that handlers are around as a whole or not at all.
    pub(super) fn regions(&self) -> Vec<Region> {
        let mut ends: HashMap<usize, usize> = HashMap::new();
        for &(from, to) in self.edges.iter().filter(|(from, to)| from >= to) {
            let end = ends.entry(to).or_default();
            *end = from.max(*end);
        }
        let mut regions: Vec<Region> =
            ends.into_iter().map(|(first, last)| Region { first, last }).collect();
        regions.retain(|region| self.is_alone(region));
        regions.sort_by_key(|region| region.first);
        regions
    }

    fn is_alone(&self, region: &Region) -> bool {
        let has_one_entry = self.edges.iter().all(|&(from, to)| {
            let goes_back = from >= to && to != region.first;
            !region.contains(to) || region.contains(from) && !goes_back
        });
        let place = |label| self.places.get(&label).copied().unwrap_or(usize::MAX);
        has_one_entry
            && self.code.handlers().all(|(_, handler)| {
                let (start, end) = (place(handler.start), place(handler.end));
                let is_outside = end <= region.first || start > region.last;
                let is_around = start <= region.first && end > region.last;
                !region.contains(place(handler.handler)) && (is_outside || is_around)
            })
    }

    /// How a loop is left; nothing if it is not understood.
    pub(super) fn exits(&self, region: &Region) -> Option<Vec<Exit>> {
        let mut exits = Vec::new();
        let is_outside = |label| self.places.get(&label).is_none_or(|&it| !region.contains(it));
        for &(node, instruction) in self.within(region) {
            match *instruction {
                Instruction::Jump { opcode: Opcode::Jsr | Opcode::JsrW, .. }
                | Instruction::Local { opcode: Opcode::Ret, .. } => return None,
                Instruction::Jump { opcode: Opcode::Goto | Opcode::GotoW, target } => {
                    exits.extend(is_outside(target).then_some(Exit::Leaves(node)));
                }
                Instruction::Jump { target, .. } => {
                    exits.extend(is_outside(target).then_some(Exit::Branches(node, target)));
                }
                Instruction::TableSwitch { .. } | Instruction::LookupSwitch { .. }
                    if jumps(instruction).into_iter().any(is_outside) =>
                {
                    return None;
                }
                Instruction::Plain(opcode) if is_return(opcode) => exits.push(Exit::Leaves(node)),
                _ => {}
            }
        }
        let (_, last) = self.instructions[region.last];
        exits.extend((!last.ends_flow()).then_some(Exit::FallsOut));
        Some(exits)
    }

    /// For every instruction of a loop whether a round may do without it.
    pub(super) fn optional(&self, region: &Region) -> Vec<bool> {
        let mut optional = vec![false; region.last + 1 - region.first];
        let inside = |place: &usize| region.contains(*place);
        for (from, to) in self.edges.iter().filter(|(from, to)| inside(from) && inside(to)) {
            let end = if *to == region.first { region.last + 1 } else { *to };
            optional[from + 1 - region.first..end - region.first].fill(true);
        }
        optional
    }

    /// Labels of a loop that are jumped to, by the places after them.
    pub(super) fn targets(&self, region: &Region) -> Vec<(usize, usize)> {
        let is_inside = |&&(_, to): &&(usize, usize)| region.contains(to) && to != region.first;
        self.edges.iter().filter(is_inside).copied().collect()
    }
}
