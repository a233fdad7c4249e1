//! What several forms say in the same words.

use std::fmt::Display;

use unsnarl_findings::Access;

/// More of a kind than this are counted, not shown: a cycle may have a thousand locks.
pub(crate) const MOST: usize = 6;

/// `write by thread Update, holding bank.Account (this)`.
pub(crate) fn describe(access: &Access) -> String {
    let thread = match &access.thread {
        // `pool task at Server.java:12` says itself what it is.
        Some(name) if name.contains(' ') => name.clone(),
        Some(name) => format!("thread {name}"),
        None => "any thread".to_owned(),
    };
    let shown = access.locks.len().min(MOST);
    let locks = match access.locks.len() - shown {
        0 if shown == 0 => "no lock".to_owned(),
        0 => joined(&access.locks),
        more => format!("{} and {more} more", joined(&access.locks[..shown])),
    };
    format!("{} by {thread}, holding {locks}", access.kind)
}

pub(crate) fn joined<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}
