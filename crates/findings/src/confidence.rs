//! How sure we are, and why.
//!
//! The odds that a finding is a real defect start at even (1 : 1). Every *sign* doubles or halves
//! them: the kinds of evidence give some, and every [`Heuristic`] that holds gives as many as its
//! [`Effect`] says. The confidence is the probability with these odds, so it depends neither on the
//! order of the reasons nor on who found them first, and a reader can follow it by counting.
//!
//! | signs | confidence |   | signs | confidence |
//! |---|---|---|---|---|
//! | 0 | 0.50 | | −1 | 0.33 |
//! | 1 | 0.67 | | −2 | 0.20 |
//! | 2 | 0.80 | | −3 | 0.11 |
//! | 3 | 0.89 | | −4 | 0.06 |
//! | 4 | 0.94 | | −5 | 0.03 |
//!
//! Evidence: `suspected` gives no sign, `predicted` two, `observed` four; only the strongest counts,
//! and every further kind that agrees with it adds one.
//!
//! A heuristic is declared as a `static` next to the detector that checks it:
//!
//! ```
//! use unsnarl_findings::{Effect, Heuristic};
//!
//! static NO_COMMON_LOCK: Heuristic = Heuristic {
//!     name: "no-common-lock",
//!     effect: Effect::raises(2),
//!     sentence: "the accesses hold no lock in common",
//! };
//! assert_eq!(NO_COMMON_LOCK.holds().to_string(), "++ no-common-lock: the accesses hold no lock in common");
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use crate::Evidence;

/// A property of a finding that makes it more or less likely to be a real defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heuristic {
    /// A short name in kebab case, stable: people filter by it.
    pub name: &'static str,
    /// What it does to the confidence.
    pub effect: Effect,
    /// What is the case when it holds, as a sentence without capital and full stop.
    pub sentence: &'static str,
}

impl Heuristic {
    /// The reason that this heuristic holds.
    #[must_use]
    pub fn holds(&'static self) -> Reason {
        Reason {
            name: Cow::Borrowed(self.name),
            effect: self.effect,
            sentence: Cow::Borrowed(self.sentence),
        }
    }

    /// The reason that this heuristic holds, said with the particulars of the finding.
    #[must_use]
    pub fn holds_because(&'static self, sentence: impl Into<String>) -> Reason {
        Reason { sentence: Cow::Owned(sentence.into()), ..self.holds() }
    }
}

/// How much a heuristic doubles (raises) or halves (lowers) the odds, in signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Effect(i8);

impl Effect {
    /// The most signs a single heuristic can give.
    pub const STRONGEST: u8 = 4;

    /// Worth mentioning, but without an effect on the confidence.
    pub const NONE: Self = Self(0);

    /// Doubles the odds `signs` times.
    ///
    /// # Panics
    /// With more than [`Effect::STRONGEST`] signs; at compile time in a `static`.
    #[must_use]
    pub const fn raises(signs: u8) -> Self {
        assert!(signs <= Self::STRONGEST, "no single heuristic is that strong");
        Self(signs as i8)
    }

    /// Halves the odds `signs` times.
    ///
    /// # Panics
    /// With more than [`Effect::STRONGEST`] signs; at compile time in a `static`.
    #[must_use]
    pub const fn lowers(signs: u8) -> Self {
        assert!(signs <= Self::STRONGEST, "no single heuristic is that strong");
        Self(-(signs as i8))
    }

    /// The number of doublings; negative for halvings.
    #[must_use]
    pub fn signs(self) -> i32 {
        i32::from(self.0)
    }

    /// Reads what [`fmt::Display`] wrote.
    fn parse(text: &str) -> Option<Self> {
        let strongest = Self::STRONGEST as i8;
        (-strongest..=strongest).map(Self).find(|effect| effect.to_string() == text)
    }
}

/// `++`, `-`, or `=` for no effect.
impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.0 {
            0 => return f.write_str("="),
            1.. => "+",
            _ => "-",
        };
        f.write_str(&sign.repeat(usize::from(self.0.unsigned_abs())))
    }
}

/// A heuristic that holds for a finding, with what is said about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// The name of the heuristic.
    pub name: Cow<'static, str>,
    /// Its effect on the confidence.
    pub effect: Effect,
    /// What is the case.
    pub sentence: Cow<'static, str>,
}

impl Reason {
    /// Reads what [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (effect, rest) = text.split_once(' ')?;
        let (name, sentence) = rest.split_once(": ")?;
        let effect = Effect::parse(effect)?;
        Some(Self { name: name.to_owned().into(), effect, sentence: sentence.to_owned().into() })
    }
}

/// `++ no-common-lock: the accesses hold no lock in common`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.effect, self.name, self.sentence)
    }
}

/// The probability that a finding is a real defect, as far as we can tell: 0.01 to 0.99, in
/// hundredths. Nothing is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u8);

impl Confidence {
    /// What follows from the kinds of evidence and the reasons. A heuristic counts once, however
    /// often it is named.
    #[must_use]
    pub fn from_reasons(evidence: &BTreeSet<Evidence>, reasons: &[Reason]) -> Self {
        let strongest = evidence.last().map_or(0, |kind| kind.signs());
        let agreement = i32::try_from(evidence.len().saturating_sub(1)).unwrap_or(i32::MAX);
        let named: BTreeSet<(&str, i32)> =
            reasons.iter().map(|reason| (reason.name.as_ref(), reason.effect.signs())).collect();
        let heuristics: i32 = named.iter().map(|(_, signs)| signs).sum();
        Self::from_signs(strongest + agreement + heuristics)
    }

    fn from_signs(signs: i32) -> Self {
        let odds = f64::from(signs.clamp(-20, 20)).exp2();
        let hundredths = (100.0 * odds / (1.0 + odds)).round().clamp(1.0, 99.0);
        Self(hundredths as u8)
    }

    /// In hundredths, 1 to 99.
    #[must_use]
    pub fn hundredths(self) -> u8 {
        self.0
    }

    /// As a probability.
    #[must_use]
    pub fn probability(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

/// `0.93`.
impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0.{:02}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static RAISES: Heuristic =
        Heuristic { name: "raises", effect: Effect::raises(2), sentence: "it is so" };
    static LOWERS: Heuristic =
        Heuristic { name: "lowers", effect: Effect::lowers(3), sentence: "it is not so" };

    fn confidence(evidence: &[Evidence], reasons: &[Reason]) -> u8 {
        Confidence::from_reasons(&evidence.iter().copied().collect(), reasons).hundredths()
    }

    #[test]
    fn evidence_gives_the_start() {
        assert_eq!(confidence(&[Evidence::Suspected], &[]), 50);
        assert_eq!(confidence(&[Evidence::Predicted], &[]), 80);
        assert_eq!(confidence(&[Evidence::Observed], &[]), 94);
        assert_eq!(confidence(&[Evidence::Suspected, Evidence::Observed], &[]), 97);
    }

    #[test]
    fn every_sign_doubles_or_halves_the_odds() {
        assert_eq!(confidence(&[Evidence::Suspected], &[RAISES.holds()]), 80);
        assert_eq!(confidence(&[Evidence::Suspected], &[LOWERS.holds()]), 11);
        assert_eq!(confidence(&[Evidence::Suspected], &[LOWERS.holds(), RAISES.holds()]), 33);
    }

    #[test]
    fn a_heuristic_counts_once() {
        let twice = [RAISES.holds(), RAISES.holds_because("the other side says so too")];
        assert_eq!(confidence(&[Evidence::Suspected], &twice), 80);
    }

    #[test]
    fn nothing_is_certain() {
        assert_eq!(Confidence::from_signs(i32::MAX).to_string(), "0.99");
        assert_eq!(Confidence::from_signs(i32::MIN).to_string(), "0.01");
    }

    #[test]
    fn reasons_show_their_effect() {
        assert_eq!(RAISES.holds().to_string(), "++ raises: it is so");
        assert_eq!(LOWERS.holds_because("no").to_string(), "--- lowers: no");
        assert_eq!(Effect::NONE.to_string(), "=");
    }

    #[test]
    fn a_reason_is_read_back() {
        for reason in [RAISES.holds(), LOWERS.holds_because("it: was not so")] {
            assert_eq!(Reason::parse(&reason.to_string()), Some(reason));
        }
        for bad in ["", "raises: it is so", "+-+ raises: it is so", "+++++ raises: so", "+ raises"]
        {
            assert_eq!(Reason::parse(bad), None, "{bad}");
        }
    }
}
