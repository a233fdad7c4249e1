//! Probes for accesses to fields.

use std::collections::HashMap;

use unsnarl_classfile::edit::{CodeError, LabelId, NodeId, PoolEditor};
use unsnarl_classfile::{ConstantIndex, FieldType, Instruction, Opcode, flags};
use unsnarl_events::Filter;
use unsnarl_recording::{FieldName, SiteNumber, SiteOperation, Volatility};

use super::MethodRewriter;
use crate::hooks;
use crate::probe::Probe;
use crate::redundancy::{Assumed, Known, Method, Redundancy};
use crate::rewrite::{declared_volatility, is_captured};
use crate::site::Conditional;

impl MethodRewriter<'_, '_> {
    pub(super) fn find_redundancy(
        &self,
        super_call: Option<NodeId>,
        pool: &PoolEditor<'_>,
    ) -> Redundancy {
        let calls_object = super_call.and_then(|node| match self.code.instruction(node)? {
            Instruction::Invoke { method, .. } => pool.member(*method),
            _ => None,
        });
        let method = Method {
            code: &self.code,
            class: self.class.name(),
            is_static: self.member.access & flags::STATIC != 0,
            super_call,
            is_new: calls_object.is_some_and(|member| member.class == b"java/lang/Object"),
            filters: self.filters,
            pure_methods: self.pure_methods,
        };
        Redundancy::find(&method, pool, &|field| self.known(field, pool))
    }

    /// What is known of a field, or assumed if nothing is.
    fn known(&self, field: ConstantIndex, pool: &PoolEditor<'_>) -> Known {
        let Some(field) = field_name(field, pool) else {
            return Known { volatility: Volatility::Unknown, is_assumed: false, group: 0 };
        };
        let known = self.known_volatility(&field);
        let is_assumed = known == Volatility::Unknown;
        let volatility = if is_assumed { self.known_classes.assumed(&field) } else { known };
        Known { volatility, is_assumed, group: self.known_classes.group(&field) }
    }

    /// The condition under which an access at a site, or the probe of several, needs or may replace others.
    pub(super) fn add_conditional(
        &mut self,
        site: SiteNumber,
        assumed: &[Assumed],
        reported_by: Option<(SiteNumber, u32)>,
        pool: &PoolEditor<'_>,
    ) {
        let assumed = assumed
            .iter()
            .filter_map(|&(field, volatility)| Some((field_name(field, pool)?, volatility)));
        let assumed = assumed.collect();
        self.conditionals.push(Conditional { site, assumed, reported_by });
    }

    pub(super) fn volatility_of(&self, field: ConstantIndex, pool: &PoolEditor<'_>) -> Volatility {
        match field_name(field, pool) {
            Some(field) => self.known_volatility(&field),
            None => Volatility::Unknown,
        }
    }

    fn known_volatility(&self, field: &FieldName) -> Volatility {
        declared_volatility(self.class, field)
            .unwrap_or_else(|| self.known_classes.volatility(field))
    }

    /// One probe for accesses of one kind to plain fields of one object. If it is `conditional` and there is something for
    /// it to do, its number and that of its accesses are returned.
    pub(super) fn together(
        &mut self,
        first: &Instruction<LabelId>,
        (node, line): (NodeId, Option<u16>),
        others: &[NodeId],
        is_conditional: bool,
        lines: &HashMap<NodeId, Option<u16>>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Option<(SiteNumber, u32)>, CodeError> {
        let &Instruction::Field { opcode, field } = first else { return Ok(None) };
        let mut fields = vec![(field_name(field, pool), line)];
        for other in others {
            if let Some(&Instruction::Field { field, .. }) = self.code.instruction(*other) {
                fields.push((field_name(field, pool), lines.get(other).copied().flatten()));
            }
        }
        let value = fields[0].0.as_ref().and_then(|it| FieldType::parse(&it.descriptor));
        let words = value.map_or(1, FieldType::slots);
        let known_classes = self.known_classes;
        fields
            .retain(|(field, _)| field.as_ref().is_some_and(|it| known_classes.watches_field(it)));
        let count = fields.len() as u32;
        if count == 0 || count == 1 && is_conditional {
            return Ok(None);
        }
        // A probe for several has a number of its own, those of the accesses follow.
        let number = self.numbers.take(count + 1);
        for (offset, (field, line)) in (1..).zip(fields) {
            let Some(field) = field else { continue };
            let operation = SiteOperation::Field(field, Volatility::Plain);
            self.add_site(SiteNumber(number.0 + offset), line, operation);
        }
        let mut probe = Probe::before(&mut self.code, pool, node);
        let hook = if opcode == Opcode::GetField {
            probe.duplicate();
            hooks::FIELD_READS
        } else {
            probe.duplicate_below(words);
            hooks::FIELD_WRITES
        };
        if count == 1 {
            probe.call_for_all(hook, SiteNumber(number.0 + 1), count)?;
        } else {
            probe.call_for_all(hook, number, count)?;
        }
        Ok(is_conditional.then_some((number, count)))
    }

    pub(super) fn field(
        &mut self,
        node: NodeId,
        line: Option<u16>,
        opcode: Opcode,
        field: FieldName,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let volatility = self.known_volatility(&field);
        let plain = matches!(volatility, Volatility::Plain | Volatility::Final);
        if volatility == Volatility::Final && self.filters.contains(Filter::Escape) {
            return Ok(());
        }
        let is_watched = self.events.fields && self.known_classes.watches_field(&field);
        let wanted = is_watched || self.events.synchronization && !plain;
        let Some(words) = FieldType::parse(&field.descriptor).map(FieldType::slots) else {
            return Ok(());
        };
        if !wanted || self.known_classes.is_library() || is_captured(self.class, &field) {
            return Ok(());
        }
        let is_of_other_class = field.class != self.class.name();
        let site = self.site(line, SiteOperation::Field(field, volatility));
        if self.events.exact {
            return self.exact_field(node, words, is_of_other_class, site, pool);
        }
        let before = node;
        match (opcode, plain) {
            (Opcode::GetField, true) => {
                Probe::before(&mut self.code, pool, before).top(hooks::FIELD_READ, site)?;
            }
            (Opcode::GetField, false) => {
                let hook = hooks::NUMBERED_READ_BEGINS;
                Probe::before(&mut self.code, pool, before).top(hook, site)?;
                self.call_after(node, hooks::NUMBERED_READ_ENDS, site, pool)?;
            }
            (Opcode::PutField, plain) => {
                let hook = if plain { hooks::FIELD_WRITE } else { hooks::NUMBERED_WRITE };
                Probe::before(&mut self.code, pool, before).below_value(words, hook, site)?;
            }
            (Opcode::GetStatic, plain) => {
                let hook = if plain { hooks::STATIC_READ } else { hooks::NUMBERED_STATIC_READ };
                self.call_after(node, hook, site, pool)?;
            }
            (_, true) => self.call_after(node, hooks::STATIC_WRITE, site, pool)?,
            (_, false) => {
                let accessed = self.code.instruction(node).cloned();
                let mut probe = Probe::before(&mut self.code, pool, before);
                if let (Volatility::Unknown, Some(Instruction::Field { field, .. })) =
                    (volatility, accessed)
                {
                    // The class is loaded and initialized before the write is reported: until then nobody knows what the field is.
                    probe.read_static_for_nothing(field, words);
                }
                probe.call(hooks::NUMBERED_STATIC_WRITE, site)?;
            }
        }
        Ok(())
    }
}

pub(super) fn field_name(field: ConstantIndex, pool: &PoolEditor<'_>) -> Option<FieldName> {
    let member = pool.member(field)?;
    Some(FieldName {
        class: member.class.to_vec(),
        name: member.name.to_vec(),
        descriptor: member.descriptor.to_vec(),
    })
}
