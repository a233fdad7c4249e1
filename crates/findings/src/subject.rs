//! What a finding is about.

use std::fmt;

use crate::MethodReference;

/// The variable, the locks or the method that a finding is about, or several of them together (a
/// method that uses a stale value of a variable). There is always at least one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    variable: Option<Variable>,
    locks: Vec<Lock>,
    method: Option<MethodReference>,
}

impl Subject {
    /// A finding about a variable.
    #[must_use]
    pub fn variable(variable: Variable) -> Self {
        Self { variable: Some(variable), locks: Vec::new(), method: None }
    }

    /// A finding about a lock and further ones: the locks of a cycle, in the order of the cycle. The
    /// access at the same position as a lock holds that lock and acquires the next one.
    #[must_use]
    pub fn locks(first: Lock, others: impl IntoIterator<Item = Lock>) -> Self {
        let locks = std::iter::once(first).chain(others).collect();
        Self { variable: None, locks, method: None }
    }

    /// A finding about a method.
    #[must_use]
    pub fn method(method: MethodReference) -> Self {
        Self { variable: None, locks: Vec::new(), method: Some(method) }
    }

    /// A finding about whatever is given; none if that is nothing.
    #[must_use]
    pub fn of_parts(
        variable: Option<Variable>,
        locks: Vec<Lock>,
        method: Option<MethodReference>,
    ) -> Option<Self> {
        let is_something = variable.is_some() || !locks.is_empty() || method.is_some();
        is_something.then_some(Self { variable, locks, method })
    }

    /// The same subject, and `variable` in it.
    #[must_use]
    pub fn and_variable(mut self, variable: Variable) -> Self {
        self.variable = Some(variable);
        self
    }

    /// The same subject, and `lock` in it.
    #[must_use]
    pub fn and_lock(mut self, lock: Lock) -> Self {
        self.locks.push(lock);
        self
    }

    /// The variable, if the finding is about one.
    #[must_use]
    pub fn as_variable(&self) -> Option<&Variable> {
        self.variable.as_ref()
    }

    /// The locks the finding is about, in cycle order; empty when it is not about locks.
    #[must_use]
    pub fn as_locks(&self) -> &[Lock] {
        &self.locks
    }

    /// The method, if the finding is about one.
    #[must_use]
    pub fn as_method(&self) -> Option<&MethodReference> {
        self.method.as_ref()
    }
}

/// In one line: `a.B.method()V, a.B.field, a.Lock -> b.Lock -> a.Lock`, as far as present.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(method) = &self.method {
            write!(f, "{method}")?;
            separator = ", ";
        }
        if let Some(variable) = &self.variable {
            write!(f, "{separator}{variable}")?;
            separator = ", ";
        }
        if let [first, others @ ..] = self.locks.as_slice() {
            write!(f, "{separator}{first}")?;
            for lock in others {
                write!(f, " -> {lock}")?;
            }
            if !others.is_empty() {
                write!(f, " -> {first}")?;
            }
        }
        Ok(())
    }
}

/// A field, or the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    /// The class that declares the field, or the type of the array; none for a trace without types.
    pub class: Option<String>,
    /// The name of the field, [`Variable::ELEMENTS`] for array elements.
    pub field: String,
}

impl Variable {
    /// The field name under which all elements of an array go.
    pub const ELEMENTS: &'static str = "[]";

    /// The field `field` declared by `class`.
    #[must_use]
    pub fn field(class: impl Into<String>, field: impl Into<String>) -> Self {
        Self { class: Some(class.into()), field: field.into() }
    }

    /// The elements of arrays of `array_type`, for example `int[]`.
    #[must_use]
    pub fn elements(array_type: impl Into<String>) -> Self {
        Self::field(array_type, Self::ELEMENTS)
    }

    /// A variable of which a trace has a name and nothing else.
    #[must_use]
    pub fn untyped(name: impl Into<String>) -> Self {
        Self { class: None, field: name.into() }
    }

    /// Whether this stands for the elements of arrays.
    #[must_use]
    pub fn is_elements(&self) -> bool {
        self.field == Self::ELEMENTS
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.class {
            Some(class) if self.is_elements() => write!(f, "elements of {class}"),
            Some(class) => write!(f, "{class}.{}", self.field),
            None => f.write_str(&self.field),
        }
    }
}

/// A lock, by the class of its object and by how the code or the run names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock {
    /// The class of the lock object; none for a trace without types.
    pub class: Option<String>,
    /// What distinguishes it from other locks of its class: `this`, `field lock`, `#12`. It may differ from
    /// run to run and is no part of a fingerprint unless it is all there is.
    pub label: Option<String>,
}

impl Lock {
    /// A lock whose object is of `class`.
    #[must_use]
    pub fn of_class(class: impl Into<String>) -> Self {
        Self { class: Some(class.into()), label: None }
    }

    /// A lock of which only a name is known.
    #[must_use]
    pub fn named(label: impl Into<String>) -> Self {
        Self { class: None, label: Some(label.into()) }
    }

    /// The same lock, distinguished from others of its class by `label`.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Reads what [`fmt::Display`] wrote. A lone name is that of a class: nothing that is done with a lock distinguishes it from
    /// a label.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.strip_suffix(')').and_then(|text| text.split_once(" (")) {
            Some((class, label)) => Self::of_class(class).labelled(label),
            None if text == UNKNOWN_LOCK => Self { class: None, label: None },
            None => Self::of_class(text),
        }
    }
}

const UNKNOWN_LOCK: &str = "unknown lock";

/// `bank.Account (this)`.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.class, &self.label) {
            (Some(class), Some(label)) => write!(f, "{class} ({label})"),
            (Some(name), None) | (None, Some(name)) => f.write_str(name),
            (None, None) => f.write_str(UNKNOWN_LOCK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_read_well() {
        let cycle = Subject::locks(Lock::of_class("a.A").labelled("this"), [Lock::named("L2")]);
        assert_eq!(cycle.to_string(), "a.A (this) -> L2 -> a.A (this)");

        let stale = Subject::method(MethodReference::new("a.A", "inc", "()V"))
            .and_variable(Variable::field("a.A", "x"))
            .and_lock(Lock::of_class("a.A"));
        assert_eq!(stale.to_string(), "a.A.inc()V, a.A.x, a.A");

        assert_eq!(Variable::elements("int[]").to_string(), "elements of int[]");
        assert_eq!(Variable::untyped("V3").to_string(), "V3");
    }

    #[test]
    fn a_lock_is_read_back() {
        let labelled = Lock::of_class("a.A").labelled("field lock (of b.B)");
        for lock in [labelled, Lock::of_class("a.A"), Lock { class: None, label: None }] {
            assert_eq!(Lock::parse(&lock.to_string()), lock);
        }
        assert_eq!(Lock::parse("L2").to_string(), Lock::named("L2").to_string());
    }
}
