//! Suggestions for a name that does not exist.

/// The most suggestions that are made.
const MOST: usize = 3;

/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.7;

/// How much less alike than the best suggestion the others may be.
const CLOSE: f64 = 0.1;

/// The names that are most like the wanted one, the best first. Case does not count, and the package may be
/// missing.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| (likeness(&wanted, &name.to_lowercase()), name))
        .filter(|&(score, _)| score >= ALIKE)
        .collect();
    scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
    scored.dedup();
    let best = scored.first().map_or(0.0, |&(score, _)| score);
    scored.retain(|&(score, _)| score >= best - CLOSE);
    scored.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect()
}

/// ` (did you mean a or b?)`, or nothing.
pub fn suggestion<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    match nearest(wanted, names).as_slice() {
        [] => String::new(),
        near => format!(" (did you mean {}?)", near.join(" or ")),
    }
}

fn likeness(wanted: &str, name: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(wanted, name);
    // `Account.balance` of `bank.Account.balance`: as many parts from the end as were written.
    let parts = wanted.matches('.').count() + 1;
    let end: Vec<&str> = name.rsplitn(parts + 1, '.').take(parts).collect();
    let end: Vec<&str> = end.into_iter().rev().collect();
    whole.max(strsim::normalized_damerau_levenshtein(wanted, &end.join(".")))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_best_come_first_and_strangers_not_at_all() {
        let names = ["bank.Account.balance", "bank.Account.owner", "bank.Invoice.total", "x.Y.z"];
        let near = |wanted| nearest(wanted, names.into_iter());
        assert_eq!(near("bank.Account.balence"), ["bank.Account.balance"]);
        assert_eq!(near("account.balanc"), ["bank.Account.balance"]);
        assert_eq!(near("com.acme.Server.port"), [""; 0]);
    }
}
