//! Places in the code, and the fields that they access.

use rustc_hash::FxHashMap;
use unsnarl_entity::EntityId;
use unsnarl_events::{Field, FieldId, Method, Problem, Problems, Site, SiteId, Sites};
use unsnarl_recording::class_table::Found;
use unsnarl_recording::records::{FieldName, SiteOperation, Volatility};

use crate::translate::{Translator, binary};

/// Sites with larger numbers are not of this recorder, or damaged.
const MOST_SITES: usize = 1 << 22;

/// The sites of places, by their numbers.
#[derive(Debug, Default)]
pub(in crate::translate) struct SiteIds {
    /// One more than the index of the site; 0 if there is none.
    near: Vec<u32>,
    others: FxHashMap<u32, SiteId>,
}

impl SiteIds {
    #[inline]
    pub(in crate::translate) fn get(&self, number: u32) -> Option<SiteId> {
        match self.near.get(number as usize) {
            Some(site) => Some(SiteId::from_index(site.checked_sub(1)? as usize)),
            None => self.others.get(&number).copied(),
        }
    }

    pub(in crate::translate) fn insert(&mut self, number: u32, site: SiteId) {
        let index = number as usize;
        if index >= MOST_SITES {
            self.others.insert(number, site);
            return;
        }
        if index >= self.near.len() {
            self.near.resize(index + 1, 0);
        }
        self.near[index] = site.index() as u32 + 1;
    }
}

impl Translator {
    /// The field that a site accesses and whether it is volatile. A field of which that cannot be known is
    /// taken for volatile, and told as a problem.
    pub(in crate::translate) fn field(
        &mut self,
        site: u32,
        problems: &mut Problems,
    ) -> Option<(FieldId, bool)> {
        let known = self.recent_fields.get(site, site.into());
        if known.is_some() {
            return known;
        }
        let found = self.find_field(site, problems)?;
        if self.fields.contains_key(&site) {
            self.recent_fields.set(site, site.into(), found);
        }
        Some(found)
    }

    fn find_field(&mut self, site: u32, problems: &mut Problems) -> Option<(FieldId, bool)> {
        if let Some(&known) = self.fields.get(&site) {
            return Some(known);
        }
        let operation = self.descriptions.sites.get(&site).map(|record| &record.operation);
        let Some(SiteOperation::Field(FieldName { class, name, descriptor }, volatility)) =
            operation
        else {
            missing_site(site, problems);
            return None;
        };
        let found = self.descriptions.classes.find(class, name, descriptor);
        let (declaring, volatility) = match found {
            Found::Field(field) => (field.class, field.volatility),
            Found::Nowhere => (&class[..], Volatility::Plain),
            Found::Unknown if *volatility == Volatility::Unknown => {
                problems.add(|| Problem {
                    place: format!("site {site}"),
                    expected: "a field of a class that was loaded",
                    found: String::from_utf8_lossy(&[class, &b"."[..], name].concat()).into_owned(),
                });
                (&class[..], Volatility::Unknown)
            }
            Found::Unknown => (&class[..], *volatility),
        };
        let (declaring, name) = (declaring.to_vec(), name.clone());
        let field = self.declared_field(&declaring, &name, volatility);
        let found = (field, volatility.may_be_volatile());
        // The class may be told later.
        if volatility != Volatility::Unknown {
            self.fields.insert(site, found);
        }
        Some(found)
    }

    /// A field by the internal name of the class that declares it.
    pub(in crate::translate) fn declared_field(
        &mut self,
        class: &[u8],
        name: &[u8],
        volatility: Volatility,
    ) -> FieldId {
        let class = self.tables.names.intern(&binary(class));
        let name = self.tables.names.intern(name);
        let fields = &mut self.tables.fields;
        *self.declared.entry((class, name)).or_insert_with(|| {
            fields.push(Field { class, name, is_final: volatility == Volatility::Final })
        })
    }

    pub(in crate::translate) fn site(&mut self, number: u32) -> SiteId {
        match self.sites.get(number) {
            Some(site) => site,
            None => {
                let site = self.new_site(number);
                self.sites.insert(number, site);
                site
            }
        }
    }

    fn new_site(&mut self, number: u32) -> SiteId {
        let Self { descriptions, tables, methods, .. } = self;
        let Sites::Known(known) = &mut tables.sites else {
            unreachable!("made by `new` with known sites");
        };
        let names = &mut tables.names;
        let (site, names_of_method, file) = match descriptions.sites.get(&number) {
            // Hooks in the JDK itself, such as the start of a thread, have no site.
            None => (None, [&b""[..], b"?", b""].map(|name| names.intern(name)), None),
            Some(site) => {
                let class = names.intern(&binary(&site.class));
                let file = (!site.file.is_empty()).then(|| names.intern(&site.file));
                let method = names.intern(&site.method);
                (Some(site), [class, method, names.intern(&site.descriptor)], file)
            }
        };
        let [class, name, descriptor] = names_of_method;
        let known_methods = &mut tables.methods;
        let method = *methods.entry((class, name, descriptor)).or_insert_with(|| {
            known_methods.push(Method {
                class: site.map(|_| class),
                name,
                descriptor: site.map(|_| descriptor),
                file,
            })
        });
        let line = site.and_then(|site| site.line).map(u32::from);
        let id = known.push(Site { method, line });
        if site.is_some_and(|site| site.operation == SiteOperation::UntestedWait) {
            tables.untested_waits.insert(id);
        }
        // A static method or a constructor runs only when its class and those above it are initialized.
        if let Some(site) = site.filter(|site| site.is_static || site.method == b"<init>") {
            let above = descriptions.classes.superclasses(&site.class);
            self.initialized_at[id] = above.map(|class| names.intern(&binary(class))).collect();
        }
        id
    }
}

pub(in crate::translate) fn missing_site(site: u32, problems: &mut Problems) {
    problems.add(|| Problem {
        place: format!("site {site}"),
        expected: "a line in the table of sites that fits its event",
        found: "none".into(),
    });
}
