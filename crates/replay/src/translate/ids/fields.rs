//! The ids of fields.
//!
//! The fields that a class declares are numbered in *groups* of eight as they occur, so that an object has its variables of a
//! group in one block: see [`ObjectIds`](super::ObjectIds).

use rustc_hash::FxHashMap;
use unsnarl_classfile::resolution::Resolved;
use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Field, FieldId, NameId, Problem, Problems, Tables};
use unsnarl_recording::records::{FieldName, SiteOperation, Volatility};

use super::missing_site;
use crate::recent::Recent;
use crate::translate::descriptions::{Descriptions, binary_name};

/// How many fields a group has at most.
pub(crate) const GROUP: usize = 8;

/// Fields by the sites that access them, and by their names.
#[derive(Debug)]
pub(crate) struct FieldIds {
    /// The fields of sites, and whether they are volatile.
    at_sites: FxHashMap<u32, (FieldId, bool)>,
    recent: Recent<u32, (FieldId, bool)>,
    declared: FxHashMap<(NameId, NameId), FieldId>,
    pub(crate) groups: Groups,
}

impl Default for FieldIds {
    fn default() -> Self {
        Self {
            at_sites: FxHashMap::default(),
            recent: Recent::new(),
            declared: FxHashMap::default(),
            groups: Groups::default(),
        }
    }
}

impl FieldIds {
    /// The field that a site accesses and whether it is volatile. A field of which that cannot be known is
    /// taken for volatile, and reported as a problem.
    pub(crate) fn at_site(
        &mut self,
        site: u32,
        descriptions: &Descriptions,
        tables: &mut Tables,
        problems: &mut Problems,
    ) -> Option<(FieldId, bool)> {
        let known = self.recent.get(site, site.into());
        if known.is_some() {
            return known;
        }
        let found = self.find(site, descriptions, tables, problems)?;
        if self.at_sites.contains_key(&site) {
            self.recent.set(site, site.into(), found);
        }
        Some(found)
    }

    fn find(
        &mut self,
        site: u32,
        descriptions: &Descriptions,
        tables: &mut Tables,
        problems: &mut Problems,
    ) -> Option<(FieldId, bool)> {
        if let Some(&known) = self.at_sites.get(&site) {
            return Some(known);
        }
        let operation = descriptions.sites.get(&site).map(|record| &record.operation);
        let Some(SiteOperation::Field(FieldName { class, name, descriptor }, volatility)) =
            operation
        else {
            missing_site(site, problems);
            return None;
        };
        let found = descriptions.classes.find(class, name, descriptor);
        let (declaring, volatility) = match found {
            Resolved::Found(field) => (field.class, field.volatility),
            Resolved::Nowhere => (&class[..], Volatility::Plain),
            Resolved::Unknown if *volatility == Volatility::Unknown => {
                problems.add(|| Problem {
                    place: format!("site {site}"),
                    expected: "a field of a class that was loaded",
                    found: String::from_utf8_lossy(&[class, &b"."[..], name].concat()).into_owned(),
                });
                (&class[..], Volatility::Unknown)
            }
            Resolved::Unknown => (&class[..], *volatility),
        };
        let field = self.declared(declaring, name, volatility, tables);
        let found = (field, volatility.may_be_volatile());
        // The class may be described later.
        if volatility != Volatility::Unknown {
            self.at_sites.insert(site, found);
        }
        Some(found)
    }

    /// A field by the internal name of the class that declares it.
    pub(crate) fn declared(
        &mut self,
        class: &[u8],
        name: &[u8],
        volatility: Volatility,
        tables: &mut Tables,
    ) -> FieldId {
        let class = tables.names.intern(&binary_name(class));
        let name = tables.names.intern(name);
        let fields = &mut tables.fields;
        *self.declared.entry((class, name)).or_insert_with(|| {
            fields.push(Field { class, name, is_final: volatility == Volatility::Final })
        })
    }
}

/// The position of a field in the blocks of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(super) group: u16,
    pub(super) slot: u8,
}

/// The fields, by groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    members: SecondaryMap<FieldId, Option<Member>>,
    fields: Vec<Vec<FieldId>>,
    /// The last group of every class.
    of_class: FxHashMap<NameId, u16>,
}

impl Groups {
    /// The position of a field. None if there are very many classes.
    pub(crate) fn member(&mut self, field: FieldId, declared: Field) -> Option<Member> {
        if let Some(known) = self.members[field] {
            return Some(known);
        }
        let group = match self.of_class.get(&declared.class) {
            Some(&group) if self.fields[usize::from(group)].len() < GROUP => group,
            _ => {
                let new = u16::try_from(self.fields.len()).ok()?;
                self.fields.push(Vec::with_capacity(GROUP));
                self.of_class.insert(declared.class, new);
                new
            }
        };
        let fields = &mut self.fields[usize::from(group)];
        let member = Member { group, slot: fields.len() as u8 };
        fields.push(field);
        self.members[field] = Some(member);
        Some(member)
    }

    pub(super) fn of(&self, group: u16) -> &[FieldId] {
        &self.fields[usize::from(group)]
    }
}
