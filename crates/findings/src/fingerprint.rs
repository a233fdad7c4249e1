//! The name of a defect across runs, versions and detectors.
//!
//! A fingerprint is the first 16 hexadecimal digits of the SHA-256 of this text (every line ends with
//! a line feed, fields are separated by tabs; in names, backslash, tab, line feed and carriage return
//! are written `\\`, `\t`, `\n` and `\r`):
//!
//! ```text
//! unsnarl.fingerprint/1
//! rule<TAB>data-race
//! method<TAB>CLASS<TAB>NAME<TAB>DESCRIPTOR      when the subject has a method
//! variable<TAB>CLASS<TAB>FIELD                  when it has a variable; CLASS is - when unknown
//! lock<TAB>CLASS                                for every lock of the subject, sorted; or its label
//! at<TAB>CLASS<TAB>NAME<TAB>DESCRIPTOR          see below; sorted, each once
//! at<TAB>LOCATION                               the same on a trace that only has numbers
//! ```
//!
//! The `at` lines name the methods in which the accesses happen. They are there when the subject is
//! too weak a name on its own: for locks (many are plain instances of `java.lang.Object`), for array
//! elements (all `int[]` look alike) and for variables of traces without types (`V3`). A race on a field is the same defect wherever the field
//! is touched, so that static and dynamic results meet and a baseline does not depend on a schedule.
//!
//! Not in it: lines, files, folders, threads, the locks held, the order of accesses and of the locks
//! of a cycle, the message, the severity, the evidence, the detectors. Of a hidden class only what
//! does not change from run to run counts: `a.B$$Lambda$14/0x0000000840066c40` is `a.B$$Lambda`.
//!
//! What it misses: a renamed class, field or method is a new defect; two cycles over the same lock
//! classes in the same methods are one. Numbers that the compiler gives (`a.B$1`, `lambda$run$0`) are
//! kept, because two of them in one class are more often two defects than one that moved.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::{Access, Finding, Frame, MethodReference, Variable};

/// The name of a defect: equal for two findings exactly when they are about the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        let digest = Sha256::digest(identity(finding));
        let (head, _) = digest.split_first_chunk::<8>().expect("a SHA-256 has 32 bytes");
        Self(u64::from_be_bytes(*head))
    }

    /// Reads what [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let well_formed = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if well_formed { u64::from_str_radix(text, 16).ok().map(Self) } else { None }
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text whose hash is the fingerprint, as the module's documentation describes it.
fn identity(finding: &Finding) -> String {
    let subject = &finding.subject;
    let mut text = String::from("unsnarl.fingerprint/1\n");
    push_line(&mut text, &["rule", finding.rule.id()]);
    if let Some(method) = subject.as_method() {
        push_line(&mut text, &method_fields("method", method));
    }
    if let Some(variable) = subject.as_variable() {
        let class = variable.class.as_deref().map_or("-", stable_class_name);
        push_line(&mut text, &["variable", class, &variable.field]);
    }
    let mut locks: Vec<&str> = subject
        .as_locks()
        .iter()
        .map(|lock| match (&lock.class, &lock.label) {
            (Some(class), _) => stable_class_name(class),
            (None, label) => label.as_deref().unwrap_or("-"),
        })
        .collect();
    locks.sort_unstable();
    for lock in locks {
        push_line(&mut text, &["lock", lock]);
    }
    let is_weak = |variable: &Variable| variable.is_elements() || variable.class.is_none();
    let weak_name = !subject.as_locks().is_empty() || subject.as_variable().is_some_and(is_weak);
    if weak_name {
        let sites: BTreeSet<String> = finding.accesses.iter().filter_map(site_line).collect();
        text.extend(sites);
    }
    text
}

fn site_line(access: &Access) -> Option<String> {
    let mut line = String::new();
    match access.site()? {
        Frame::Code { method, .. } => push_line(&mut line, &method_fields("at", method)),
        Frame::Location(number) => push_line(&mut line, &["at", &number.to_string()]),
    }
    Some(line)
}

fn method_fields<'a>(keyword: &'a str, method: &'a MethodReference) -> [&'a str; 4] {
    [keyword, stable_class_name(&method.class), &method.name, &method.descriptor]
}

fn push_line(text: &mut String, fields: &[&str]) {
    for (position, field) in fields.iter().enumerate() {
        if position > 0 {
            text.push('\t');
        }
        for character in field.chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                other => text.push(other),
            }
        }
    }
    text.push('\n');
}

/// The part of a class name that is the same in every run: a hidden class has an address after a
/// slash, and older JVMs number the classes of lambdas before it.
fn stable_class_name(name: &str) -> &str {
    let Some((visible, _address)) = name.split_once('/') else { return name };
    match visible.rsplit_once('$') {
        Some((stem, number))
            if stem.ends_with("$$Lambda") && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            stem
        }
        _ => visible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessKind, Evidence, Lock, Rule, Subject};

    fn frame(class: &str, line: u32) -> Frame {
        let method = MethodReference::new(class, "run", "()V");
        Frame::Code { method, file: Some("X.java".to_owned()), line: Some(line) }
    }

    fn finding(subject: Subject, frames: Vec<Frame>) -> Finding {
        let accesses =
            frames.into_iter().map(|frame| Access::new(AccessKind::Write, vec![frame])).collect();
        Finding::new(Rule::DataRace, subject, Evidence::Observed, "test", "a race", accesses)
    }

    #[test]
    fn the_text_is_as_documented() {
        let subject = Subject::method(MethodReference::new("a.B", "run", "()V"))
            .and_variable(Variable::elements("int[]"))
            .and_lock(Lock::of_class("z.Z").labelled("this"))
            .and_lock(Lock::named("L\t1"));
        let accesses = vec![frame("b.B", 4), frame("a.A", 3), frame("b.B", 9), Frame::Location(17)];
        assert_eq!(
            identity(&finding(subject, accesses)),
            "unsnarl.fingerprint/1\n\
             rule\tdata-race\n\
             method\ta.B\trun\t()V\n\
             variable\tint[]\t[]\n\
             lock\tL\\t1\n\
             lock\tz.Z\n\
             at\t17\n\
             at\ta.A\trun\t()V\n\
             at\tb.B\trun\t()V\n"
        );
    }

    /// The value can be had with `printf '…' | sha256sum`. A change of it breaks every baseline.
    #[test]
    fn the_algorithm_never_changes() {
        let finding =
            finding(Subject::variable(Variable::field("bank.Account", "balance")), vec![]);
        assert_eq!(
            identity(&finding),
            "unsnarl.fingerprint/1\nrule\tdata-race\nvariable\tbank.Account\tbalance\n"
        );
        assert_eq!(finding.fingerprint().to_string(), "7bb2926eb86b4e96");
    }

    #[test]
    fn a_field_is_the_same_defect_wherever_it_is_touched() {
        let subject = || Subject::variable(Variable::field("a.A", "x"));
        let one = finding(subject(), vec![frame("a.A", 1), frame("a.B", 2)]);
        let other = finding(subject(), vec![frame("a.C", 1)]);
        assert_eq!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn elements_of_arrays_are_told_apart_by_the_methods_that_touch_them() {
        let subject = || Subject::variable(Variable::elements("int[]"));
        let one = finding(subject(), vec![frame("a.A", 1)]);
        let other = finding(subject(), vec![frame("a.B", 1)]);
        assert_ne!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn variables_without_a_class_are_told_apart_by_their_locations() {
        let at = |locations: [u64; 2]| {
            let accesses = locations.map(Frame::Location).to_vec();
            finding(Subject::variable(Variable::untyped("V3")), accesses).fingerprint()
        };
        assert_eq!(at([1, 2]), at([2, 1]));
        assert_ne!(at([1, 2]), at([1, 3]));
    }

    #[test]
    fn hidden_classes_lose_what_changes_from_run_to_run() {
        assert_eq!(stable_class_name("a.B$$Lambda$14/0x0000000840066c40"), "a.B$$Lambda");
        assert_eq!(stable_class_name("a.B$$Lambda/0x0000000840066c40"), "a.B$$Lambda");
        assert_eq!(stable_class_name("a.Hidden$3/0x00"), "a.Hidden$3");
        assert_eq!(stable_class_name("a.B$1"), "a.B$1");
    }

    #[test]
    fn a_fingerprint_is_read_back() {
        let fingerprint = Fingerprint(0x00ab_cdef_0123_4567);
        assert_eq!(fingerprint.to_string(), "00abcdef01234567");
        assert_eq!(Fingerprint::parse("00abcdef01234567"), Some(fingerprint));
        for bad in ["", "00abcdef0123456", "00abcdef012345678", "+0abcdef01234567", "xyz"] {
            assert_eq!(Fingerprint::parse(bad), None, "{bad}");
        }
    }
}
