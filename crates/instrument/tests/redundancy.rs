//! Which accesses need no probe, seen from the sites of small methods.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use unsnarl_events::Filters;
use unsnarl_instrument::{KnownClasses, Plan, SiteNumbers, rewrite};
use unsnarl_recording::{FieldName, SiteOperation, Volatility};

/// The fields that a method of a class `A` reports, in the order of their sites; elements of arrays are `[]`.
fn reported(members: &str, method: &str) -> Vec<String> {
    let source = format!(
        "class A {{ int x; int y; long z; volatile int v; A next; final A fixed = null; \
         static void call(Object o) {{ System.out.println(o); }} \
         static Object call2() {{ return null; }} {members} }}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    let bytes = std::fs::read(folder.path().join("A.class")).unwrap();
    let unknown = |_: &_| Volatility::Unknown;
    let class = rewrite(&bytes, &Plan::default(), &SiteNumbers::default(), &unknown, false);
    let sites = class.unwrap().map_or_else(Vec::new, |class| class.sites);
    sites
        .into_iter()
        .filter(|site| site.method == method.as_bytes())
        .filter_map(|site| match site.operation {
            SiteOperation::Field(field, _) => Some(String::from_utf8(field.name).unwrap()),
            SiteOperation::Element => Some("[]".to_owned()),
            _ => None,
        })
        .collect()
}

fn body(parameters: &str, body: &str) -> Vec<String> {
    reported(&format!("void m({parameters}) throws Exception {{ {body} }}"), "m")
}

#[test]
fn the_same_again_is_reported_once() {
    assert_eq!(body("", "int a = x + x;"), ["x"]);
    assert_eq!(body("A o", "int a = o.x + o.x + x;"), ["x", "x"]);
    assert_eq!(body("", "int a = fixed.x + fixed.x;"), ["x"]);
    assert_eq!(body("", "x = 1; y = x;"), ["x", "y"]);
    assert_eq!(body("", "x = 1; x = 2;"), ["x"]);
}

/// The read that is left out could not be told from the write that follows.
#[test]
fn a_read_before_a_certain_write_is_left_out() {
    assert_eq!(body("", "x++;"), ["x"]);
    assert_eq!(body("", "z += x; x = 3;"), ["z", "x"]);
    assert_eq!(body("int d", "int a = x; a = 1 / d; x = a;"), ["x", "x"], "it may not follow");
    assert_eq!(body("boolean b", "int a = x; if (b) x = 1;"), ["x", "x"], "it may not follow");
    assert_eq!(body("", "int a = x; call(null); x = 1;"), ["x", "x"]);
}

#[test]
fn what_releases_or_changes_the_object_makes_an_access_new() {
    assert_eq!(body("", "int a = x; call(null); a = x;"), ["x", "x"]);
    assert_eq!(body("", "int a = x; v = 1; a = x;"), ["x", "v", "x"]);
    assert_eq!(body("", "int a = x; synchronized (this) { } a = x;"), ["x", "x"]);
    assert_eq!(body("A o", "int a = o.x; o = next; a = o.x;"), ["x", "next", "x"]);
    assert_eq!(body("", "int a = next.x; a = next.x;"), ["next", "x", "x"], "next may change");
    assert_eq!(body("int n", "while (n-- > 0) { int a = x; } int b = x;"), ["x", "x"]);
    assert_eq!(body("A o", "int a = x; a = o.x;"), ["x", "x"], "two objects");
}

#[test]
fn where_ways_meet_what_all_have_seen_is_known() {
    assert_eq!(body("boolean b", "int a = x; if (b) a++; a = x;"), ["x"]);
    assert_eq!(body("boolean b", "int a; if (b) a = x; else a = -x; a = x;"), ["x", "x"]);
    assert_eq!(body("boolean b", "int a = 0; if (b) a = x; a = x;"), ["x", "x"], "one has not");
    assert_eq!(body("boolean b", "int a = x; if (b) call(null); a = x;"), ["x", "x"]);
    assert_eq!(body("boolean b", "x = 1; if (b) return; x = 2;"), ["x"]);
    assert_eq!(body("boolean b, A o", "int a = o.x; if (b) o = this; a = o.x;"), ["x", "x"]);
    let two = "int a = x; switch (i) { case 1: a = 2; break; case 5: call(null); default: } a = x;";
    assert_eq!(body("int i", two), ["x", "x"], "one way releases");
    let caught = "int a = x; try { a = 1 / a; call(null); } catch (Exception e) { } a = x;";
    assert_eq!(body("", caught), ["x", "x"], "by an exception");
}

#[test]
fn a_loop_that_releases_nothing_begins_with_what_is_known() {
    assert_eq!(body("int n", "int a = x; while (n-- > 0) a += x;"), ["x"]);
    assert_eq!(body("int n", "int a = x; while (n-- > 0) { a += x; call(null); }"), ["x", "x"]);
    assert_eq!(body("int n", "int a = x; while (n-- > 0) { a += x; a += v; }"), ["x", "x", "v"]);
    assert_eq!(body("int n", "int a = x; do { a += x; } while (n-- > 0); a = x;"), ["x"]);
    let moves = "int a = o.x; while (n-- > 0) { a += o.x; o = o.fixed; }";
    assert_eq!(body("A o, int n", moves), ["x", "x"], "another object in each round");
    let nested = "int a = x; while (n-- > 0) { while (n % 7 > 0) { a += x; n--; } call(null); }";
    assert_eq!(body("int n", nested), ["x", "x"], "the loop around it releases");
    let both = "int a = x; while (n-- > 0) { while (n % 7 > 0) { a += x; n--; } a += x; }";
    assert_eq!(body("int n", both), ["x"]);
    let caught =
        "int a = x; while (n-- > 0) { try { a += x; a /= n; } catch (Exception e) { call(e); } }";
    assert_eq!(body("int n", caught), ["x", "x"], "the handler releases");
}

#[test]
fn the_same_element_again_is_reported_once() {
    assert_eq!(body("int[] p, int i", "int a = p[i] + p[i];"), ["[]"]);
    assert_eq!(body("int[] p, int i", "p[i] = 1; int a = p[i];"), ["[]"]);
    assert_eq!(body("long[] p, int i", "p[i] = 1; p[i] = 2;"), ["[]"]);
    assert_eq!(body("int[] p, int i", "int a = p[i]; p[i] = 2;"), ["[]", "[]"], "a write");
    assert_eq!(body("int[] p, int i", "int a = p[i]; i++; a = p[i];"), ["[]", "[]"]);
    assert_eq!(body("int[] p, int i", "int a = p[i]; i = 3; a = p[i];"), ["[]", "[]"]);
    assert_eq!(body("int[] p, int i, int[] q", "int a = p[i] + q[i];"), ["[]", "[]"]);
    assert_eq!(body("int[] p, int i", "int a = p[i]; call(p); a = p[i];"), ["[]", "[]"]);
    assert_eq!(body("A[] p, int i", "A a = p[i]; p = null; a = p[i];"), ["[]", "[]"]);
    // The row in front of the loop, its element, and the elements in the loop.
    let rows = "int a = m[i][0]; for (int j = 1; j < 9; j++) if (j != i) a += m[i][j];";
    assert_eq!(body("int[][] m, int i", rows), ["[]", "[]", "[]"]);
    let other =
        "int a = m[i][0]; for (int j = 1; j < 9; j++) { if (j != i) a += m[i][j]; i ^= 1; }";
    assert_eq!(body("int[][] m, int i", other), ["[]", "[]", "[]", "[]"], "another row");
}

/// One probe reports all that certainly follow each other, so its sites have numbers in a row.
#[test]
fn what_nothing_can_separate_has_one_probe() {
    let probes = |body: &str| {
        let source =
            format!("class A {{ int x; int y; int z; static int s; void m(A o) {{ {body} }} }}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("A.java");
        std::fs::write(&file, source).unwrap();
        unsnarl_testing::jdk().compile([file.as_path()], folder.path());
        let bytes = std::fs::read(folder.path().join("A.class")).unwrap();
        let unknown = |_: &_| Volatility::Unknown;
        let numbers = SiteNumbers::default();
        let mut plan = Plan::default();
        let length = |plan: &Plan| {
            rewrite(&bytes, plan, &numbers, &unknown, false).unwrap().unwrap().bytes.len()
        };
        let filtered = length(&plan);
        plan.spec.filters = Filters::NONE;
        (filtered, length(&plan))
    };
    // A probe has seven bytes or more, one that reports several has at most two more.
    let (filtered, all) = probes("x = 1; y = 2; z = 3;");
    assert!(filtered < all, "{filtered} and {all} bytes");
    let (filtered, all) = probes("int a = x + y + z;");
    assert!(filtered < all, "{filtered} and {all} bytes");
}

/// Fields of another class, of which all is assumed: `v` volatile, `fixed` final, the others plain.
struct Assuming;

impl KnownClasses for Assuming {
    fn volatility(&self, _field: &FieldName) -> Volatility {
        Volatility::Unknown
    }

    fn assumed(&self, field: &FieldName) -> Volatility {
        match &field.name[..] {
            b"v" => Volatility::Volatile,
            b"fixed" => Volatility::Final,
            _ => Volatility::Plain,
        }
    }
}

/// How many probes report for others if assumptions hold, how many accesses they report, and how many accesses are
/// redundant then.
fn conditional(body: &str) -> (usize, u32, usize) {
    let source = format!(
        "class A {{ void m(B o, C c, int d) {{ {body} }} }} class C {{ int w; int u; }} \
         class B {{ int x; int y; int z; volatile int v; final B fixed = null; }}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    let bytes = std::fs::read(folder.path().join("A.class")).unwrap();
    let class = rewrite(&bytes, &Plan::default(), &SiteNumbers::default(), &Assuming, false);
    let class = class.unwrap().unwrap();
    let probes = class.conditionals.iter().filter_map(|it| {
        it.reported_by.filter(|&(reporter, _)| reporter == it.site).map(|(_, count)| count)
    });
    let (probes, counts): (Vec<_>, Vec<_>) = probes.map(|count| ((), count)).unzip();
    let redundant = class.conditionals.iter().filter(|it| it.reported_by.is_none()).count();
    assert!(class.conditionals.iter().all(|it| !it.assumed.is_empty()));
    (probes.len(), counts.iter().sum(), redundant)
}

/// What is only assumed is reported together as what is known would be, but every access keeps its own probe.
#[test]
fn assumptions_make_accesses_conditional() {
    assert_eq!(conditional("int a = o.x + o.y + o.z;"), (1, 3, 0));
    assert_eq!(conditional("int a = o.x + o.y + o.x;"), (1, 2, 1));
    assert_eq!(conditional("o.x = 1; o.y = 2; int a = o.x;"), (1, 2, 1));
    assert_eq!(conditional("o.x++;"), (0, 0, 1), "the write says it all");
    assert_eq!(conditional("int a = o.x; o.v = 1; a = o.y;"), (0, 0, 0), "it may release");
    assert_eq!(conditional("int a = o.fixed.x + o.fixed.y;"), (1, 2, 0), "the same object");
    assert_eq!(conditional("int a = o.x + c.w; a += o.y + c.u;"), (1, 2, 0), "c may be null");
    assert_eq!(conditional("int a = o.x / d + o.y;"), (0, 0, 0), "it may not follow");
    assert_eq!(conditional("int a = o.x; if (d > 0) a = 1; a = o.x;"), (0, 0, 1));
    let loads = "int a = o.x; if (d > 0) a = c.w; a = o.x;";
    assert_eq!(conditional(loads), (0, 0, 0), "a class is loaded on one of the ways");
    assert_eq!(conditional("int a = o.x; while (d-- > 0) a += o.x;"), (0, 0, 1));
    let loads = "int a = o.x; while (d-- > 0) a += o.x + c.w;";
    assert_eq!(conditional(loads), (0, 0, 0), "a class is loaded in the first round");
    let loaded = "int a = o.x + c.w; while (d-- > 0) a += o.x + c.w;";
    assert_eq!(conditional(loaded), (0, 0, 2), "it was loaded before");
}

/// Short methods of the class that only compute, and functions on numbers, release nothing.
#[test]
fn quiet_calls_change_nothing() {
    let with = |helper: &str, body: &str| {
        reported(&format!("{helper} void m(A o, int d, int[] n) {{ {body} }}"), "m")
    };
    let twice = "int a = x; h(a); a = x;";
    assert_eq!(with("static int h(int i) { return i > 3 ? i * 2 : -i; }", twice), ["x"]);
    assert_eq!(with("private int h(int i) { y = i; return y; }", twice), ["x"]);
    assert_eq!(
        with(
            "static int h(int i) { return Math.max(i, k(i)); } \
        static int k(int i) { return i + 1; }",
            twice
        ),
        ["x"]
    );
    assert_eq!(with("", "int a = x; a = Math.abs(a) + Integer.bitCount(a) + x;"), ["x"]);
    for loud in [
        "int h(int i) { return i; }",
        "static synchronized int h(int i) { return i; }",
        "private int h(int i) { v = i; return i; }",
        "static int h(int i) { synchronized (A.class) { return i; } }",
        "static int h(int i) { return k(i); } static int k(int i) { call(null); return i; }",
        "static int h(int i) { return new int[2][2].length; }",
        "static int h(int i) { return h(i - 1); }",
        "static native int h(int i);",
        "private int h(int i) { return next.fixed == null ? other() : 1; } int other() { return 1; }",
    ] {
        assert_eq!(with(loud, twice), ["x", "x"], "{loud}");
    }
    // One that may throw separates what is reported together, and no more.
    let throws = "static int h(int i) { return 1 / i; }";
    assert_eq!(with(throws, "int a = x; h(d); x = 1;"), ["x", "x"]);
    assert_eq!(with("static int h(int i) { return i; }", "int a = x; h(d); x = 1;"), ["x"]);
    assert_eq!(
        with("static int h(int[] i) { return i[0]; }", "int a = x; h(n); x = 1;"),
        ["x", "x"]
    );
}

#[test]
fn a_constructor_reports_this_when_it_is_known_elsewhere() {
    assert_eq!(reported("A() { x = 1; x++; y = x; }", "<init>"), [""; 0]);
    assert_eq!(reported("A() { for (int i = 0; i < 3; i++) { x += i; } }", "<init>"), [""; 0]);
    assert_eq!(reported("A() { x = 1; call(this); x = 2; }", "<init>"), ["x"]);
    assert_eq!(reported("A() { x = 1; A a = this; call(a); y = 2; }", "<init>"), ["y"]);
    assert_eq!(reported("A() { x = 1; next = this; next.x = 1; }", "<init>"), ["next", "x"]);
    assert_eq!(reported("A(A o) { x = 1; o.next = this; x = 2; }", "<init>"), ["next", "x"]);
    assert_eq!(reported("A() { x = 1; new Thread(() -> x++).start(); x = 2; }", "<init>"), ["x"]);
    assert_eq!(reported("A(A o) { x = 1; o.x = 2; }", "<init>"), ["x"], "another object");
    let loop_ = "A() { for (int i = 0; i < 3; i++) { y = 1; call(this); } }";
    assert_eq!(reported(loop_, "<init>"), ["y"], "the second time it is known");
    let thrown = "A() { try { x = 1; call(this); } finally { y = 2; } }";
    assert_eq!(reported(thrown, "<init>"), ["y", "y"]);
}

#[test]
fn what_is_written_into_an_array_that_only_the_stack_has_is_left_out() {
    assert_eq!(body("int a", "int[] p = {a, a + 1}; call(p);"), [""; 0]);
    assert_eq!(body("int a", "call(String.format(\"%d %s\", a, \"b\"));"), [""; 0]);
    assert_eq!(body("long a", "call(new long[] {a, 1});"), [""; 0]);
    assert_eq!(body("int a", "call(new int[][] {{a}, {1, 2}});"), [""; 0]);
    assert_eq!(
        body("int a", "call(new Object[] {a, call2()});"),
        [""; 0],
        "who is called does not know it"
    );
    assert_eq!(body("int a", "int[] p = {a}; call(p); p[0] = 1;"), ["[]"]);
    assert_eq!(body("int a", "int[] p = {a}; p[0] = 1;"), ["[]"], "a variable is not followed");
    assert_eq!(
        body("int[] p", "p[0] = new int[] {1}[0];"),
        ["[]", "[]"],
        "what is read, and another array"
    );
    assert_eq!(body("boolean b", "call(new int[] {b ? 1 : 2, 3});"), ["[]", "[]"], "ways meet");
    let kept = "Object[] q = new Object[1]; call(q[0] = new int[] {1});";
    assert_eq!(body("int a", kept), ["[]"], "but for the array that is in a variable");
}
