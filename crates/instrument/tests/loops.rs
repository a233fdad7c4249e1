//! Which loops report their accesses to arrays when they are left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use unsnarl_classfile::Instruction;
use unsnarl_classfile::read::ClassFile;
use unsnarl_events::Filters;
use unsnarl_instrument::{Plan, SiteNumbers, rewrite};
use unsnarl_recording::Volatility;

fn compiled(parameters: &str, body: &str) -> Vec<u8> {
    let source = format!(
        "class A {{ final int[] fixed = null; int[] other; volatile int v; int f; static void quiet() {{}} \
         static void call() {{ System.gc(); }} \
         int m({parameters}) {{ {body} }} }}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    std::fs::read(folder.path().join("A.class")).unwrap()
}

/// Whether a method reports at the end of a loop, and whether it reports single elements.
fn hooks(parameters: &str, body: &str, plan: &Plan) -> (bool, bool) {
    let bytes = compiled(parameters, body);
    let unknown = |_: &_| Volatility::Unknown;
    let class = rewrite(&bytes, plan, &SiteNumbers::default(), &unknown, false).unwrap().unwrap();
    let has = |name: &[u8]| class.bytes.windows(name.len()).any(|window| window == name);
    (has(b"loopRead") || has(b"loopWrite"), has(b"arrayRead") || has(b"arrayWrite"))
}

fn loops(body: &str) -> (bool, bool) {
    hooks("int[] a, int[] b, int[][] m, int n", body, &Plan::default())
}

const COALESCED: (bool, bool) = (true, false);
const BOTH: (bool, bool) = (true, true);
const SINGLE: (bool, bool) = (false, true);

#[test]
fn loops_that_count_report_when_they_are_left() {
    for body in [
        "for (int i = 0; i < n; i++) a[i] = b[i + 1]; return 0;",
        "for (int i = n; i > 0; i -= 2) a[i - 1]++; return 0;",
        "int i = 0; while (true) { if (a[i++] == n) return i; }",
        "int i = 0; do { n += a[i]; i++; } while (i < b.length); return n;",
        "for (int i = 0; i < n; i++) { if (i == 7) break; a[i] = Math.max(i, n); } return 0;",
        "for (int i = 0; i < n; i++) fixed[i] = f; return 0;",
        "try { for (int i = 0; i < n; i++) a[i] = 1; } finally { f = 1; } return 0;",
        "synchronized (this) { for (int i = 0; i < n; i++) a[i] = 1; } return 0;",
        "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) a[i] = b[i]; return 0;",
        "for (int each : a) n += each; return n;",
        "for (int i = 0; i < n; i++) { a[i] = 1; quiet(); } return 0;",
    ] {
        assert_eq!(loops(body), COALESCED, "{body}");
    }
}

#[test]
fn what_not_every_round_comes_to_is_reported_alone() {
    for body in [
        "for (int i = 0; i < n; i++) { a[i] = 1; if (i == n) b[i] = 1; } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = 1; if (i == n) continue; b[i] = 1; } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = i == n ? b[i] : 0; } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = m[n][i]; } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = other[i]; } return 0;",
        "for (int i = 0; i < n; i++) { int[] c = m[i]; c[i] = 1; a[i] = 2; } return 0;",
    ] {
        assert_eq!(loops(body), BOTH, "{body}");
    }
}

#[test]
fn other_loops_stay_as_they_are() {
    for body in [
        "for (int i = 0; i < n; i++) { a[i] = 1; call(); } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = v; } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = 1; synchronized (this) { f = 1; } } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = 1; new Object(); } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = 1; if (f == i) i++; } return 0;",
        "for (int i = 0; i < n; i++) { a[i] = 1; a = b; } return 0;",
        "for (int i = 0; i < n; i = i * 2) a[i] = 1; return 0;",
        "for (int i = 0; i < n; i++) try { a[i] = 1; } catch (Exception e) { f = 1; } return 0;",
        "for (int i = 0; i < n; i += 5000) a[i] = 1; return 0;",
    ] {
        assert_eq!(loops(body), SINGLE, "{body}");
    }
}

#[test]
fn without_filters_every_access_is_reported() {
    let mut plan = Plan::default();
    plan.spec.filters = Filters::NONE;
    let body = "for (int i = 0; i < n; i++) a[i] = 1; return 0;";
    assert_eq!(hooks("int[] a, int n", body, &plan), SINGLE);
}

/// There is no room for the variables of the probes, or a class file is not one: whatever two bytes are, nothing panics.
#[test]
fn the_greatest_numbers_are_borne() {
    let bytes = compiled("int[] a, int n", "for (int i = 0; i < n; i++) a[i] = 1; return 0;");
    let unknown = |_: &_| Volatility::Unknown;
    let mut rewritten = 0;
    for place in 0..bytes.len() - 1 {
        let mut bytes = bytes.clone();
        bytes[place..place + 2].copy_from_slice(&[0xFF, 0xFE]);
        let class = rewrite(&bytes, &Plan::default(), &SiteNumbers::default(), &unknown, false);
        rewritten += usize::from(class.is_ok());
    }
    assert!(rewritten > 0, "the numbers of variables are among them");
}

/// HotSpot does not take a loop for one that counts if the range of a handler begins within its first block: it is three
/// times as slow then.
#[test]
fn the_handler_of_a_loop_begins_where_the_loop_does() {
    for body in [
        "for (int i = 0; i < n; i++) a[i] = b[i + 1]; return 0;",
        "int i = 0; do { n += a[i]; i++; } while (i < b.length); return n;",
    ] {
        let bytes = compiled("int[] a, int[] b, int n", body);
        let unknown = |_: &_| Volatility::Unknown;
        let numbers = SiteNumbers::default();
        let rewritten =
            rewrite(&bytes, &Plan::default(), &numbers, &unknown, false).unwrap().unwrap();
        let class = ClassFile::read(&rewritten.bytes).unwrap();
        let method = class.methods.iter().find(|method| class.member_name(method) == b"m").unwrap();
        let code = class.code(method).unwrap().unwrap();
        let back = code.instructions().map(Result::unwrap).find_map(|(at, it)| match it {
            Instruction::Jump { target, .. } if target < at => Some(target),
            _ => None,
        });
        assert_eq!(code.handlers.first().map(|handler| handler.start), back, "{body}");
    }
}
