//! The `[[suppress]]` tables of `unsnarl.toml`: which findings may stay, and why.

use std::fmt;
use std::path::PathBuf;

use unsnarl_findings::{Finding, Rule};
use unsnarl_program::pattern::fits;

use crate::error::CommandError;
use crate::near::suggestion;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
    /// The file.
    pub file: PathBuf,
    /// The number of the line, from 1.
    pub line: usize,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A `[[suppress]]` table. In its patterns `*` stands for any text.
#[derive(Clone, Debug)]
pub struct SuppressionRule {
    /// Of these rules; of all, if there are none.
    pub rules: Vec<Rule>,
    /// The class that the finding is about.
    pub class: Option<String>,
    /// The field, with or without its class.
    pub field: Option<String>,
    /// The method that the finding is about or in which an access is, with or without its class.
    pub method: Option<String>,
    /// Why such a finding may stay.
    pub reason: String,
    /// Where the table stands.
    pub line: FileLine,
}

impl SuppressionRule {
    /// A table that suppresses nothing yet.
    #[must_use]
    pub fn at(line: FileLine) -> Self {
        Self {
            rules: Vec::new(),
            class: None,
            field: None,
            method: None,
            reason: String::new(),
            line,
        }
    }

    /// Adds the rule with this id.
    ///
    /// # Errors
    /// If there is no such rule.
    pub fn add_rule(&mut self, id: &str) -> Result<(), CommandError> {
        let Some(rule) = Rule::from_id(id) else {
            let near = suggestion(id, Rule::ALL.iter().map(|rule| rule.id()));
            let message = format!("{}: there is no rule '{id}'{near}", self.line);
            return Err(CommandError::failed(message));
        };
        self.rules.push(rule);
        Ok(())
    }

    /// The same, if it says what it suppresses and why.
    ///
    /// # Errors
    /// If it does not.
    pub fn checked(self) -> Result<Self, CommandError> {
        let is_named = self.class.is_some() || self.field.is_some() || self.method.is_some();
        let missing = if self.rules.is_empty() && !is_named {
            "a rule, class, field or method"
        } else if self.reason.is_empty() {
            "a reason: why may such a finding stay?"
        } else {
            return Ok(self);
        };
        Err(CommandError::failed(format!("{}: [[suppress]] needs {missing}", self.line)))
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
