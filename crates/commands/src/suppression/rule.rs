//! The `[[suppress]]` tables of `unsnarl.toml`: which findings may stay, and why.

use anyhow::bail;
use unsnarl_findings::{Finding, Rule};
use unsnarl_program::pattern::fits;

use crate::config::Place;
use crate::near::suggestion;

/// A `[[suppress]]` table. In its patterns `*` stands for any text.
#[derive(Clone, Debug)]
pub(crate) struct SuppressionRule {
    /// Of these rules; of all, if there are none.
    pub(crate) rules: Vec<Rule>,
    /// The class that the finding is about.
    pub(crate) class: Option<String>,
    /// The field, with or without its class.
    pub(crate) field: Option<String>,
    /// The method that the finding is about or in which an access is, with or without its class.
    pub(crate) method: Option<String>,
    pub(crate) reason: String,
    pub(crate) place: Place,
}

impl SuppressionRule {
    pub(crate) fn at(place: Place) -> Self {
        Self {
            rules: Vec::new(),
            class: None,
            field: None,
            method: None,
            reason: String::new(),
            place,
        }
    }

    pub(crate) fn add_rule(&mut self, id: &str) -> anyhow::Result<()> {
        let Some(rule) = Rule::from_id(id) else {
            let near = suggestion(id, Rule::ALL.iter().map(|rule| rule.id()));
            bail!("{}: there is no rule '{id}'{near}", self.place)
        };
        self.rules.push(rule);
        Ok(())
    }

    /// The same, if it says what it suppresses and why.
    pub(crate) fn checked(self) -> anyhow::Result<Self> {
        let place = &self.place;
        let is_named = self.class.is_some() || self.field.is_some() || self.method.is_some();
        if self.rules.is_empty() && !is_named {
            bail!("{place}: [[suppress]] needs a rule, class, field or method");
        }
        if self.reason.is_empty() {
            bail!("{place}: [[suppress]] needs a reason: why may such a finding stay?");
        }
        Ok(self)
    }

    /// Whether a finding is suppressed by it.
    pub(crate) fn covers(&self, finding: &Finding) -> bool {
        let fits_any = |pattern: &Option<String>, names: &[String]| match pattern {
            None => true,
            Some(pattern) => names.iter().any(|name| fits(pattern, name)),
        };
        (self.rules.is_empty() || self.rules.contains(&finding.rule))
            && fits_any(&self.class, &classes(finding))
            && fits_any(&self.field, &fields(finding))
            && fits_any(&self.method, &methods(finding))
    }

    /// The keys of the table.
    pub(crate) fn toml(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let rules: Vec<String> = self.rules.iter().map(|rule| quoted(rule.id())).collect();
        let rules = match rules.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        };
        let text = |name: &Option<String>| name.as_deref().map(quoted);
        let keys = [
            ("rule", rules),
            ("class", text(&self.class)),
            ("field", text(&self.field)),
            ("method", text(&self.method)),
            ("reason", Some(quoted(&self.reason))),
        ];
        let lines = keys.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}", value?)));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The classes that a finding is about. Locks say little about where a cycle is: the places where they are taken do.
fn classes(finding: &Finding) -> Vec<String> {
    let subject = &finding.subject;
    let variable = subject.as_variable().and_then(|variable| variable.class.clone());
    let method = subject.as_method().map(|method| method.class.clone());
    let mut classes: Vec<String> = variable.into_iter().chain(method).collect();
    if classes.is_empty() {
        classes.extend(subject.as_locks().iter().filter_map(|lock| lock.class.clone()));
        let sites = finding.accesses.iter().filter_map(|access| access.site()?.method());
        classes.extend(sites.map(|method| method.class.clone()));
    }
    classes
}

fn fields(finding: &Finding) -> Vec<String> {
    let variable = finding.subject.as_variable().into_iter();
    variable.flat_map(|it| [it.field.clone(), it.to_string()]).collect()
}

fn methods(finding: &Finding) -> Vec<String> {
    let sites = finding.accesses.iter().filter_map(|access| access.site()?.method());
    let methods = finding.subject.as_method().into_iter().chain(sites);
    methods.flat_map(|it| [it.name.clone(), format!("{}.{}", it.class, it.name)]).collect()
}
