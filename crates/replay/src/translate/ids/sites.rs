//! The ids of sites, which are places in the code.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap};
use unsnarl_events::{Method, MethodId, NameId, Problem, Problems, Site, SiteId, Sites, Tables};
use unsnarl_recording::records::SiteOperation;

use crate::translate::descriptions::{Descriptions, binary_name};

/// Sites with larger numbers are not of this recorder, or damaged.
pub(crate) const MOST_SITES: usize = 1 << 22;

/// Sites by their numbers.
#[derive(Debug, Default)]
pub(crate) struct SiteIds {
    /// One more than the index of the site; 0 if there is none.
    near: Vec<u32>,
    others: FxHashMap<u32, SiteId>,
    methods: FxHashMap<(NameId, NameId, NameId), MethodId>,
    /// The classes that are initialized when the code of a site runs.
    needed_classes: SecondaryMap<SiteId, Vec<NameId>>,
}

impl SiteIds {
    pub(crate) fn id(
        &mut self,
        number: u32,
        descriptions: &Descriptions,
        tables: &mut Tables,
    ) -> SiteId {
        match self.get(number) {
            Some(site) => site,
            None => {
                let site = self.new_site(number, descriptions, tables);
                self.insert(number, site);
                site
            }
        }
    }

    /// The classes that are initialized when the code of a site runs.
    #[inline]
    pub(crate) fn needed_classes(&self, site: SiteId) -> &[NameId] {
        &self.needed_classes[site]
    }

    #[inline]
    fn get(&self, number: u32) -> Option<SiteId> {
        match self.near.get(number as usize) {
            Some(site) => Some(SiteId::from_index(site.checked_sub(1)? as usize)),
            None => self.others.get(&number).copied(),
        }
    }

    fn insert(&mut self, number: u32, site: SiteId) {
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

    fn new_site(
        &mut self,
        number: u32,
        descriptions: &Descriptions,
        tables: &mut Tables,
    ) -> SiteId {
        let known = known_sites(&mut tables.sites);
        let names = &mut tables.names;
        let (site, names_of_method, file) = match descriptions.sites.get(&number) {
            // Hooks in the JDK itself, such as the start of a thread, have no site.
            None => (None, [&b""[..], b"?", b""].map(|name| names.intern(name)), None),
            Some(site) => {
                let class = names.intern(&binary_name(&site.class));
                let file = (!site.file.is_empty()).then(|| names.intern(&site.file));
                let method = names.intern(&site.method);
                (Some(site), [class, method, names.intern(&site.descriptor)], file)
            }
        };
        let [class, name, descriptor] = names_of_method;
        let known_methods = &mut tables.methods;
        let method = *self.methods.entry((class, name, descriptor)).or_insert_with(|| {
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
            self.needed_classes[id] =
                above.map(|class| names.intern(&binary_name(class))).collect();
        }
        id
    }
}

/// Reports that a site has no record, or one that does not fit its event.
pub(crate) fn missing_site(site: u32, problems: &mut Problems) {
    problems.add(|| Problem {
        place: format!("site {site}"),
        expected: "a line in the table of sites that fits its event",
        found: "none".into(),
    });
}

/// The sites of the translator's tables, which are always known ones.
pub(crate) fn known_sites(sites: &mut Sites) -> &mut PrimaryMap<SiteId, Site> {
    match sites {
        Sites::Known(sites) => sites,
        Sites::Numbered => unreachable!("the translator's tables are made with known sites"),
    }
}
