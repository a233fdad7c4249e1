//! The object use graphs that findings carry.

use unsnarl_detect_static::Options;
use unsnarl_findings::{EdgeKind, Finding, Frame, UseGraph};
use unsnarl_program::callgraph::Entries;

use crate::java::{Outcome, checked, run};

fn with_graphs(source: &str) -> Outcome {
    run(source, &Entries::Main, &Options { use_graphs: true, ..Options::default() }, &[])
}

fn graph(finding: &Finding) -> &UseGraph {
    finding.uses.as_ref().expect("a graph")
}

/// `0 main: new 12 -> 1`, the accesses of the defect marked by `!`, edges of threads by `=>`.
fn lines(graph: &UseGraph) -> Vec<String> {
    let line = |(number, used): (usize, &unsnarl_findings::Use)| {
        let Frame::Code { line: Some(line), .. } = used.site else { panic!("{:?}", used.site) };
        let thread = &graph.threads[used.thread];
        let several = if thread.is_several { "*" } else { "" };
        let mark = if used.is_defect { "!" } else { "" };
        let on = used.on.as_ref().map_or_else(String::new, |on| format!(" {on}"));
        let mut text = format!("{number} {}{several}: {mark}{}{on} {line}", thread.name, used.kind);
        for edge in graph.edges.iter().filter(|edge| edge.from == number) {
            let arrow = if edge.kind == EdgeKind::Thread { "=>" } else { "->" };
            text.push_str(&format!(" {arrow} {}", edge.to));
        }
        text
    };
    graph.uses.iter().enumerate().map(line).collect()
}

#[test]
fn an_object_is_made_handed_on_and_used() {
    let source = "
class T extends Thread {
    static class Box { int value; synchronized void add() { value++; } }
    static Box shared;
    public void run() { shared.add(); }
    public static void main(String[] args) throws Exception {
        Box box = new Box();
        box.value = 1;
        shared = box;
        T one = new T();
        one.start();
        System.out.println(box.value);
        one.join();
        System.out.println(box.value);
    }
}";
    let outcome = with_graphs(source);
    let race = outcome.race();
    let expected = [
        "0 main: new 7 -> 1",
        "1 main: write value 8 -> 2",
        "2 main: escape T.shared 9 -> 3",
        "3 main: start T 11 -> 4 => 7",
        "4 main: !read value 12 -> 5",
        "5 main: join T 13 -> 6",
        "6 main: read value 14",
        "7 T: read value 3 -> 8",
        "8 T: !write value 3 => 5",
    ];
    assert_eq!(lines(graph(race)), expected);
    assert_eq!(graph(race).of, "T$Box made at T.java:7");
    assert_eq!(graph(race).left_out, 0);
    assert_eq!(graph(race).uses[8].locks[0].to_string(), "T$Box (this)");
    assert!(checked(source).race().uses.is_none(), "nobody asked for it");
}

#[test]
fn a_static_variable_and_threads_that_are_several() {
    let source = "
class T extends Thread {
    static int count;
    public void run() {
        for (int i = 0; i < 9; i++) count++;
    }
    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) new T().start();
    }
}";
    let outcome = with_graphs(source);
    let race = outcome.race();
    let expected =
        ["0 main: start T 8 => 1", "1 T*: read count 5 -> 2", "2 T*: !write count 5 -> 1"];
    assert_eq!(lines(graph(race)), expected);
    assert_eq!(graph(race).of, "T.count");
}

#[test]
fn a_publication_shows_where_the_object_gets_out() {
    let source = "
class T extends Thread {
    static class Box { int value; Box() { value = 1; } }
    static Box shared;
    public void run() { Box box = shared; if (box != null) System.out.println(box.value); }
    public static void main(String[] args) {
        new T().start();
        shared = new Box();
    }
}";
    let outcome = with_graphs(source);
    let expected = [
        "0 main: start T 7 -> 1 => 4",
        "1 main: new 8 -> 2",
        "2 main: !write value 3 -> 3",
        "3 main: escape T.shared 8",
        "4 T: !read value 5",
    ];
    assert_eq!(lines(graph(outcome.publication())), expected);
}

#[test]
fn ways_through_methods_that_only_call_others_are_followed() {
    let source = "
class T extends Thread {
    int value;
    public void run() { value++; }
    int value() { return value; }
    int total() { return value(); }
    public static void main(String[] args) throws Exception {
        T one = new T();
        one.start();
        System.out.println(one.total());
        one.join();
    }
}";
    let outcome = with_graphs(source);
    let expected = [
        "0 main: new 8 -> 1",
        "1 main: start T 9 -> 2 => 4",
        "2 main: !read value 5 -> 3",
        "3 main: join T 11",
        "4 T: read value 4 -> 5",
        "5 T: !write value 4 => 3",
    ];
    assert_eq!(lines(graph(outcome.race())), expected);
}

#[test]
fn a_large_graph_is_cut() {
    let reads = "x += value;\n".repeat(40);
    let source = format!(
        "class T extends Thread {{
    static int value;
    public void run() {{ value++; }}
    public static void main(String[] args) {{
        new T().start();
        int x = 0;
{reads}        System.out.println(x);
    }}
}}"
    );
    let outcome = with_graphs(&source);
    let graph = graph(outcome.race());
    assert_eq!(graph.uses.len(), 24);
    assert_eq!(graph.left_out, 40 + 3 - 24);
    assert_eq!(graph.uses.iter().filter(|used| used.is_defect).count(), 2);
}
