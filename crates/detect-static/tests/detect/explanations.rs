//! What is said about a field.

use std::sync::LazyLock;

use unsnarl_detect_static::Options;
use unsnarl_program::callgraph::Entries;

use crate::java::run;

const SOURCE: &str = "
class T {
    static class Account {
        int balance;
        int owner;
        final int number = 1;
        int guarded;
        int own;
        java.util.List<String> log = new java.util.ArrayList<>();
        void add() { balance++; synchronized (this) { guarded++; } log.add(\"a\"); }
    }
    static class Unused { int field; }
    public static void main(String[] args) {
        Account account = new Account();
        account.owner = 7;
        for (int i = 0; i < 2; i++) {
            new Thread(() -> { account.add(); System.out.println(account.owner); }).start();
        }
        Account local = new Account();
        local.own = 1;
    }
}";

const ASKED: [(&str, &str); 11] = [
    ("T.Account", "balance"),
    ("T$Account", "owner"),
    ("Account", "guarded"),
    ("T.Account", "number"),
    ("T.Account", "own"),
    ("T.Unused", "field"),
    ("T.Account", "log"),
    ("T.Account", "nothing"),
    ("T.Nothing", "balance"),
    ("java.util.ArrayList", "size"),
    ("", ""),
];

fn explained(class: &str, field: &str) -> Option<Vec<String>> {
    static EXPLAINED: LazyLock<Vec<Option<Vec<String>>>> =
        LazyLock::new(|| run(SOURCE, &Entries::Main, &Options::default(), &ASKED).explained);
    let position = ASKED.iter().position(|asked| *asked == (class, field));
    EXPLAINED[position.expect("a field that was asked for")].clone()
}

fn has(sentences: &[String], part: &str) {
    assert!(sentences.iter().any(|sentence| sentence.contains(part)), "{part}: {sentences:#?}");
}

#[test]
fn a_field_that_was_reported() {
    let said = explained("T.Account", "balance").expect("the field");
    has(&said, "T$Account.balance is a field of type int");
    has(&said, "several threads started at T.java:17");
    has(&said, "written at T.java:10");
    has(&said, "holding no lock");
    has(&said, "neither ordered nor guarded");
    has(&said, "reported as data-race with confidence 0.");
}

#[test]
fn a_field_that_is_written_before_the_threads_start() {
    let said = explained("T$Account", "owner").expect("the field");
    has(&said, "not reported");
    has(&said, "before the object is visible to other threads");
}

#[test]
fn a_field_that_is_guarded() {
    let said = explained("Account", "guarded").expect("the field by its last name");
    has(&said, "holding T$Account (this)");
    has(&said, "guarded by the object's own lock");
    has(&said, "no two accesses can overlap");
}

#[test]
fn fields_that_cannot_race() {
    has(&explained("T.Account", "number").expect("the field"), "final field never race");
    has(&explained("T.Account", "own").expect("the field"), "not reported");
    has(&explained("T.Unused", "field").expect("the field"), "no code that can be reached");
}

#[test]
fn a_collection() {
    let said = explained("T.Account", "log").expect("the field");
    has(&said, "it refers to a java.util.ArrayList made at T.java:9");
    has(&said, "reported as data-race");
}

#[test]
fn names_that_lead_nowhere() {
    assert_eq!(explained("T.Account", "nothing"), None);
    assert_eq!(explained("T.Nothing", "balance"), None);
    assert_eq!(explained("java.util.ArrayList", "size"), None);
    assert_eq!(explained("", ""), None);
}
