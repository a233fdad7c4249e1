//! What the source of a program accepts: `@SuppressWarnings("unsnarl:<rule>")`, and `// unsnarl: ignore <rule> <reason>`.
//!
//! Only files in which a finding has an access are read. A mark in another file is not reported as unused.

use unsnarl_findings::{Finding, Frame, Report, Rule, Suppression, SuppressionKind};
use unsnarl_java_source::{About, Mark, marks};
use unsnarl_report::source::{SourceKey, Sources};

use crate::near::suggestion;

/// A mark in a file.
struct FileMark<'s> {
    key: &'s SourceKey,
    path: &'s str,
    mark: Mark,
    rules: Vec<Rule>,
    has_matched: bool,
}

/// Suppresses what the source accepts, and notes what is wrong with marks.
pub(crate) fn apply(
    report: &mut Report,
    sources: &Sources,
    was_looked_for: &impl Fn(Rule) -> bool,
) {
    let mut found = Vec::new();
    for (key, file) in sources.iter() {
        let lines = (1..).map_while(|number| file.line(number)).collect::<Vec<_>>();
        for mark in marks(&lines.join("\n")) {
            match understood(&mark) {
                Ok(rules) => {
                    let path = file.path.as_str();
                    found.push(FileMark { key, path, mark, rules, has_matched: false });
                }
                Err(problem) => {
                    report.notes.push(format!("{}:{}: {problem}", file.path, mark.line))
                }
            }
        }
    }
    report.suppress(|finding| {
        let mut reason = None;
        for mark in found.iter_mut().filter(|mark| mark.covers(finding)) {
            mark.has_matched = true;
            reason.get_or_insert_with(|| mark.mark.reason.clone());
        }
        reason.map(|justification| Suppression { kind: SuppressionKind::InSource, justification })
    });
    for FileMark { path, mark, rules, has_matched, .. } in &found {
        if !has_matched && rules.iter().any(|&rule| was_looked_for(rule)) {
            let line = mark.line;
            report.notes.push(format!("{path}:{line}: this suppression matches no finding"));
        }
    }
}

/// The rules that a mark names, or what is wrong with it.
fn understood(mark: &Mark) -> Result<Vec<Rule>, String> {
    if mark.is_comment && mark.reason.is_none() {
        return Err("this suppression needs a rule and a reason, and is passed over".to_owned());
    }
    let rule = |id: &String| {
        let near = || suggestion(id, Rule::ALL.iter().map(|rule| rule.id()));
        Rule::from_id(id).ok_or_else(|| format!("there is no rule '{id}'{}", near()))
    };
    mark.rules.iter().map(rule).collect()
}

impl FileMark<'_> {
    fn covers(&self, finding: &Finding) -> bool {
        let subject = &finding.subject;
        let variable = subject.as_variable();
        let class = variable.and_then(|it| it.class.as_deref());
        let class = class.or_else(|| subject.as_method().map(|it| it.class.as_str()));
        let is_about = match (&self.mark.about, class) {
            (About::Fields(fields), _) => variable.is_some_and(|it| {
                fields
                    .iter()
                    .any(|(class, field)| it.class.as_ref() == Some(class) && it.field == *field)
            }),
            (About::Type(name), Some(class)) => class
                .strip_prefix(name.as_str())
                .is_some_and(|it| it.is_empty() || it.starts_with('$')),
            (About::Type(_), None) => self.has_access(finding),
            (About::Code, _) => false,
        };
        let is_type = matches!(self.mark.about, About::Type(_));
        self.rules.contains(&finding.rule) && (is_about || (!is_type && self.has_access(finding)))
    }

    /// Whether one of the accesses that are the defect is in the lines of the mark: of the first two, or of all that
    /// make a cycle.
    fn has_access(&self, finding: &Finding) -> bool {
        let count = finding.subject.as_locks().len().max(2);
        let mut sites = finding.accesses.iter().take(count).filter_map(|access| access.site());
        sites.any(|site| self.is_at(site))
    }

    fn is_at(&self, site: &Frame) -> bool {
        let at = SourceKey::of(site);
        at.is_some_and(|(key, line)| key == *self.key && self.mark.lines.contains(&line))
    }
}
