//! What is known of the fields of loaded classes: when code is rewritten, and again when a place in the code is
//! reached for the first time, for then all classes that it needs are loaded.
//!
//! Fields that a filter can tell apart have a *group* and a place in it: an entry of the filter has a bit for
//! reads and one for writes of each field of a group of an object. The groups of an object are numbered from its topmost
//! class on, so that a few bits tell them apart. The static fields of a class are a group, by which its
//! owner is known. Two class loaders may load different classes of
//! one name: the fields of both count then, what they disagree on is unknown, and neither they nor the classes below them
//! have groups any more. Places in the code that are resolved by then belong to the first of them.

use rustc_hash::FxHashMap;
use unsnarl_classfile::flags;
use unsnarl_classfile::read::ClassFile;
use unsnarl_classfile::resolution::{self, Resolved, Visited};
use unsnarl_events::Filter;
use unsnarl_instrument::{Conditional, Plan, is_of_the_jdk, may_coalesce};
use unsnarl_recording::{FieldName, SiteNumber, Volatility};

use crate::classpath_lookahead::ClassPathLookahead;

// A cell, as `UnsnarlSites.java` has it.
const RESOLVED: u64 = 1;
const NUMBERED: u64 = 2;
const SKIPPED: u64 = 4;
const GROUPED: u64 = 8;
const ONCE: u64 = 16;
const NOT_YET: u64 = 32;
const CONSTANT: u64 = 64;
const BITS: u32 = 8;
const GROUP: u32 = 32;
const FIELDS_OF_A_GROUP: usize = 8;
/// How many groups an object may have, as `UnsnarlThread.java` has room for.
const GROUPS_OF_AN_OBJECT: usize = 64;

/// Fields by the classes that declare them, and the fields that places in the code access.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    classes: FxHashMap<Vec<u8>, Class>,
    sites: FxHashMap<SiteNumber, (FieldName, Volatility)>,
    conditionals: FxHashMap<SiteNumber, Conditional>,
    /// How many classes have a group of static fields.
    statics: usize,
}

/// A class and the fields that it declares.
#[derive(Debug)]
pub(crate) struct Class {
    /// Nothing if two classes of this name have different ones.
    superclass: Option<Vec<u8>>,
    fields: FxHashMap<(Vec<u8>, Vec<u8>), Field>,
    /// How many groups the fields of objects make; nothing if two classes of this name differ.
    groups: Option<usize>,
    /// Whether all classes of this name got the field for ids.
    keeps_ids: bool,
    /// Whether it makes clones that no hook sees.
    clones_unseen: bool,
}

/// A declared field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    /// `Unknown` if classes of one name disagree.
    volatility: Volatility,
    group: Option<Group>,
    /// Only the initializer of the class writes it, which comes before all that others do with the class.
    is_constant: bool,
}

/// What the filter knows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// The static fields of a class, which have a number that is not 0.
    OfStatics(u16),
    /// Fields of objects: the number among the groups of their class, and the place of the first bit.
    OfObjects(usize, u8),
}

/// The class that declares a field, and what it says.
type Declared<'t> = (&'t [u8], Field);

/// What is known of where a field is declared.
type Found<'t> = Resolved<Declared<'t>>;

impl Fields {
    /// Takes a class in.
    pub(crate) fn add(&mut self, class: &ClassFile<'_>, keeps_ids: bool, clones_unseen: bool) {
        let has_statics = class.fields.iter().any(|field| field.access & flags::STATIC != 0);
        self.statics += usize::from(has_statics);
        let new = Class { keeps_ids, clones_unseen, ..Class::new(class, self.statics) };
        match self.classes.get_mut(class.name()) {
            Some(known) => known.merge(new),
            None => {
                self.classes.insert(class.name().to_vec(), new);
            }
        }
    }

    /// The class could not be rewritten: it has no field for ids, and its clones are not seen.
    pub(crate) fn stays_as_it_is(&mut self, class: &ClassFile<'_>) {
        if let Some(known) = self.classes.get_mut(class.name()) {
            known.keeps_ids = false;
            known.clones_unseen |= unsnarl_instrument::identity::clones(class);
        }
    }

    /// Remembers what is accessed at a place in the code.
    pub(crate) fn add_site(&mut self, site: SiteNumber, field: FieldName, volatility: Volatility) {
        self.sites.insert(site, (field, volatility));
    }

    /// Remembers that a probe depends on assumptions.
    pub(crate) fn add_conditional(&mut self, conditional: Conditional) {
        self.conditionals.insert(conditional.site, conditional);
    }

    pub(crate) fn keeps_ids(&self, class: &[u8]) -> bool {
        self.classes.get(class).is_some_and(|known| known.keeps_ids)
    }

    /// Whether instances of a class may use its field for ids: no class above it clones them unseen.
    pub(crate) fn has_safe_ids(&self, class: &[u8]) -> bool {
        let is_seen = resolution::through_superclasses::<_, ()>(class, |class| {
            match self.classes.get(class) {
                Some(known) if !known.clones_unseen => known.above(),
                _ => Visited::Unknown,
            }
        });
        is_seen == Resolved::Nowhere && self.keeps_ids(class)
    }

    pub(crate) fn volatility(&self, field: &FieldName) -> Volatility {
        match self.find(field) {
            Resolved::Found((_, found)) => found.volatility,
            Resolved::Nowhere => Volatility::Plain,
            Resolved::Unknown => Volatility::Unknown,
        }
    }

    /// What is to be expected of a field whose class, or one above it, is not loaded yet.
    pub(crate) fn assumed(
        &self,
        field: &FieldName,
        lookahead: &mut ClassPathLookahead,
    ) -> Volatility {
        match self.find_with_lookahead(field, lookahead) {
            Some((_, _, volatility)) => volatility,
            None => Volatility::Unknown,
        }
    }

    /// A number for fields that can be filtered together, if they are of one object.
    pub(crate) fn group(&self, field: &FieldName, lookahead: &mut ClassPathLookahead) -> u64 {
        self.find_with_lookahead(field, lookahead)
            .map_or(0, |(depth, group, _)| depth << 16 | group)
    }

    /// Looks a field up in loaded classes and in class files: how far it is declared above the class that the code names,
    /// its group there, and its volatility.
    fn find_with_lookahead(
        &self,
        field: &FieldName,
        lookahead: &mut ClassPathLookahead,
    ) -> Option<(u64, u64, Volatility)> {
        let key = (field.name.clone(), field.descriptor.clone());
        let mut depth = 0;
        let found = resolution::through_superclasses(field.class.clone(), |class| {
            let class = match self.classes.get(&class) {
                Some(class) => Some(class),
                None => lookahead.class(&class),
            };
            let Some(class) = class else { return Visited::Unknown };
            if let Some(field) = class.fields.get(&key) {
                return Visited::Found(*field);
            }
            depth += 1;
            class.superclass.clone().map_or(Visited::Unknown, Visited::superclass)
        });
        let Resolved::Found(Field { volatility, group, .. }) = found else { return None };
        let group = match group {
            Some(Group::OfObjects(number, _)) => number as u64,
            _ => 0,
        };
        Some((depth, group, volatility))
    }

    /// The class that declares the field of a site.
    pub(crate) fn declaring_class(&self, site: SiteNumber) -> Option<&[u8]> {
        match self.find(&self.sites.get(&site)?.0) {
            Resolved::Found((class, _)) => Some(class),
            _ => None,
        }
    }

    /// The cell of a probe: that of its site, or, if it reports several accesses to plain fields of one object, of so
    /// many sites after its number.
    pub(crate) fn cell_of_all(&self, probe: SiteNumber, count: u32, plan: &Plan) -> u64 {
        let Some(conditional) = self.conditionals.get(&probe) else {
            return self.unconditional(probe, count, plan);
        };
        let holds = self.holds(conditional, plan);
        if conditional.reported_by.is_some_and(|(reporter, _)| reporter == probe) {
            return match holds {
                Some(true) => self.unconditional(probe, count, plan),
                Some(false) => RESOLVED | SKIPPED,
                None => RESOLVED | SKIPPED | NOT_YET,
            };
        }
        let own = self.cell(probe, plan);
        match holds {
            Some(true) if own != 0 => own | ONCE,
            Some(_) => own,
            None => 0,
        }
    }

    /// Whether all is as it was assumed, and the probe that reports an access with others can do so; nothing if that is
    /// not known yet.
    fn holds(&self, conditional: &Conditional, plan: &Plan) -> Option<bool> {
        for (field, assumed) in &conditional.assumed {
            match self.find(field) {
                Resolved::Found((_, Field { volatility, .. })) if volatility == *assumed => {}
                Resolved::Unknown => return None,
                _ => return Some(false),
            }
        }
        let filtered = |(probe, count)| self.unconditional(probe, count, plan) & GROUPED != 0;
        Some(conditional.reported_by.is_none_or(filtered))
    }

    /// If the fields are not of one group, the filter does not know them together.
    fn unconditional(&self, probe: SiteNumber, count: u32, plan: &Plan) -> u64 {
        if count == 1 {
            return self.cell(probe, plan);
        }
        let cells = (1..=count).map(|offset| self.cell(SiteNumber(probe.0 + offset), plan));
        cells
            .reduce(|all, cell| if all >> GROUP == cell >> GROUP { all | cell } else { RESOLVED })
            .unwrap_or(RESOLVED)
    }

    /// The cell of a site, without an offset; 0 if the class of the field is not there yet.
    fn cell(&self, site: SiteNumber, plan: &Plan) -> u64 {
        let Some((field, when_rewritten)) = self.sites.get(&site) else { return RESOLVED };
        let found = self.find(field);
        if *when_rewritten != Volatility::Unknown {
            // What the code calls does not depend on what is found out later.
            let numbered = *when_rewritten == Volatility::Volatile;
            return match found {
                _ if numbered => RESOLVED | NUMBERED,
                Resolved::Found((class, found)) => self.plain(field, class, found, plan),
                _ => RESOLVED,
            };
        }
        match found {
            Resolved::Found((
                _,
                Field { volatility: Volatility::Unknown | Volatility::Volatile, .. },
            )) => RESOLVED | NUMBERED,
            Resolved::Found((class, found)) => self.plain(field, class, found, plan),
            Resolved::Nowhere => RESOLVED,
            Resolved::Unknown => 0,
        }
    }

    /// Looks a field up from the class that the code names.
    fn find<'t>(&'t self, field: &'t FieldName) -> Found<'t> {
        let key = (field.name.clone(), field.descriptor.clone());
        resolution::through_superclasses(&field.class[..], |class| {
            let Some((name, class)) = self.classes.get_key_value(class) else {
                return Visited::Unknown;
            };
            match class.fields.get(&key) {
                Some(field) => Visited::Found((&name[..], *field)),
                None => class.above(),
            }
        })
    }

    /// The cell of a field that is not volatile.
    fn plain(&self, name: &FieldName, class: &[u8], field: Field, plan: &Plan) -> u64 {
        let is_watched = plan.spec.events.fields && plan.watches_field(&name.name);
        if !is_watched
            || field.volatility == Volatility::Final && plan.spec.filters.contains(Filter::Escape)
        {
            return RESOLVED | SKIPPED;
        }
        if is_of_the_jdk(class) && self.is_fork_join_task(class) {
            return RESOLVED | SKIPPED;
        }
        let (group, place) = match field.group {
            _ if !may_coalesce(plan.spec.filters) => return RESOLVED,
            Some(Group::OfStatics(number))
                if field.is_constant && plan.spec.filters.contains(Filter::Escape) =>
            {
                return RESOLVED | CONSTANT | u64::from(number) << GROUP;
            }
            Some(Group::OfStatics(number)) => (number.into(), 0),
            Some(Group::OfObjects(number, place)) => match self.groups_above(class) {
                Some(above) if above + number < GROUPS_OF_AN_OBJECT => (above + number, place),
                _ => return RESOLVED,
            },
            None => return RESOLVED,
        };
        RESOLVED | GROUPED | 1 << (BITS + u32::from(place)) | (group as u64) << GROUP
    }

    /// Whether a class is one of tasks whose accesses are ordered inside of `java.util.concurrent`, where it is not seen.
    fn is_fork_join_task(&self, class: &[u8]) -> bool {
        let found =
            resolution::through_superclasses(class, |class| match self.classes.get(class) {
                _ if class == b"java/util/concurrent/ForkJoinTask" => Visited::Found(()),
                Some(known) => known.above(),
                None => Visited::Unknown,
            });
        found == Resolved::Found(())
    }

    /// How many groups an object has of the classes above one; nothing if that cannot be known.
    fn groups_above(&self, class: &[u8]) -> Option<usize> {
        let mut groups = 0;
        let walked = resolution::through_superclasses::<_, ()>(class, |current| {
            let Some(known) = self.classes.get(current) else { return Visited::Unknown };
            let Some(own) = known.groups else { return Visited::Unknown };
            if current != class {
                groups += own;
            }
            known.above()
        });
        (walked == Resolved::Nowhere).then_some(groups)
    }
}

impl Class {
    /// What a class file says; its static fields have a number.
    pub(crate) fn new(class: &ClassFile<'_>, statics: usize) -> Self {
        let mut fields = FxHashMap::default();
        let mut grouped = 0;
        for field in &class.fields {
            let volatility = Volatility::of(field.access);
            let group = if volatility != Volatility::Plain {
                None
            } else if field.access & flags::STATIC != 0 {
                u16::try_from(statics).ok().map(Group::OfStatics)
            } else {
                let place = 2 * (grouped % FIELDS_OF_A_GROUP) as u8;
                grouped += 1;
                Some(Group::OfObjects((grouped - 1) / FIELDS_OF_A_GROUP, place))
            };
            let key = (class.member_name(field).to_vec(), class.member_descriptor(field).to_vec());
            let constant = flags::STATIC | flags::FINAL;
            let is_constant = field.access & constant == constant;
            fields.insert(key, Field { volatility, group, is_constant });
        }
        Self {
            superclass: Some(class.super_name().unwrap_or_default().to_vec()),
            fields,
            groups: Some(grouped.div_ceil(FIELDS_OF_A_GROUP)),
            keeps_ids: false,
            clones_unseen: false,
        }
    }

    /// Where a walk through superclasses goes on.
    fn above<T>(&self) -> Visited<&[u8], T> {
        self.superclass.as_deref().map_or(Visited::Unknown, Visited::superclass)
    }

    fn merge(&mut self, other: Self) {
        let same = self.superclass == other.superclass
            && self.fields.len() == other.fields.len()
            && self.fields.iter().all(|(key, field)| {
                other.fields.get(key).is_some_and(|it| {
                    it.volatility == field.volatility && it.group.is_some() == field.group.is_some()
                })
            });
        self.keeps_ids &= other.keeps_ids;
        self.clones_unseen |= other.clones_unseen;
        if same {
            return;
        }
        if self.superclass != other.superclass {
            self.superclass = None;
        }
        for (key, field) in other.fields {
            self.fields
                .entry(key)
                .and_modify(|known| {
                    if known.volatility != field.volatility {
                        known.volatility = Volatility::Unknown;
                    }
                    known.is_constant &= field.is_constant;
                })
                .or_insert(field);
        }
        for field in self.fields.values_mut() {
            field.group = None;
        }
        self.groups = None;
    }
}

#[cfg(test)]
mod tests;
