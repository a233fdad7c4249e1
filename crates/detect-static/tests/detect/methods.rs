//! Methods that are not one step, and how sure that is.

use unsnarl_findings::Rule;

use crate::java::{checked, reasons};

/// A method that reads a balance and writes it later, each by way of as many calls.
fn account(calls: usize) -> String {
    let forward: String = (1..calls)
        .map(|number| {
            format!(
                "int read{number}() {{ return read{next}(); }}\n\
                 void write{number}(int value) {{ write{next}(value); }}\n",
                next = number + 1
            )
        })
        .collect();
    format!(
        "class T {{
            private int balance;
            void deposit(int amount) {{ write1(read1() + amount); }}
            {forward}
            synchronized int read{calls}() {{ return balance; }}
            synchronized void write{calls}(int value) {{ balance = value; }}
            static final T ACCOUNT = new T();
            static class Worker extends Thread {{
                public void run() {{ ACCOUNT.deposit(1); }}
            }}
            public static void main(String[] args) {{
                new Worker().start();
                new Worker().start();
            }}
        }}"
    )
}

#[test]
fn steps_that_are_far_below_a_method_convince_less() {
    let confidence = |calls: usize, is_far: bool| {
        let outcome = checked(&account(calls));
        let found = outcome.of(Rule::NonAtomicMethod);
        let [("balance", finding)] = found[..] else { panic!("{calls} calls: {found:?}") };
        let names = reasons(finding);
        assert_eq!(names.contains(&"far-below"), is_far, "{calls} calls: {names:?}");
        assert_eq!(names.contains(&"acts-on-old-value"), !is_far, "{calls} calls: {names:?}");
        finding.confidence().probability()
    };
    let near = confidence(5, false);
    let far = confidence(6, true);
    assert!(near > 0.75 && far < 0.4, "{near} and {far}");
}
