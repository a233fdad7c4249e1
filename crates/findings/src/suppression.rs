//! Somebody has looked at a finding and decided that it may stay.

/// Why a finding does not count. It is still in the report, for those who want to see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suppression {
    /// Where it was decided.
    pub kind: SuppressionKind,
    /// Why, in the words of who decided it.
    pub justification: Option<String>,
}

/// Where it was decided that a finding may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SuppressionKind {
    /// In the source: an annotation or a comment.
    InSource,
    /// In a file beside it: a baseline, a configuration.
    External,
}

impl SuppressionKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::InSource, Self::External];

    /// The name used in every output; SARIF has the same.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InSource => "inSource",
            Self::External => "external",
        }
    }
}
