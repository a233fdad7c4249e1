//! Large programs, where they are installed: everything that they execute is reachable, but for what
//! they find by computed names. Run with `cargo test --release --test callgraph -- --ignored`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use libtest_mimic::Trial;
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_program::callgraph::{CallGraph, Entries, EntryPoints};

use crate::executed::Rewritten;
use crate::java;

/// A program, how to run it, and what is known to be missing.
struct Sample {
    name: &'static str,
    jars: &'static [&'static str],
    /// The library needs these; they are not looked at.
    libraries: &'static [&'static str],
    main: &'static str,
    arguments: &'static [&'static str],
    input: &'static str,
    /// How many executed methods are found by reflection with names that are computed, at most.
    gap: usize,
}

const SQL: &str = "create table t(id int primary key, name varchar(20));
insert into t values (1, 'one'), (2, 'two'), (3, null);
create index i on t(name);
select name, count(*) from t where id > 1 group by name order by name desc;
update t set name = upper(name) where id = 2;
select a.id, b.name from t a left join t b on a.id = b.id + 1;
delete from t where id = 3;
select * from t;
";

/// They take a while, and are ignored.
pub(crate) fn trials() -> Vec<Trial> {
    let programs: [(&str, fn()); 4] = [
        ("h2_shell", h2_shell),
        ("hsqldb", hsqldb),
        ("jython_hello", jython_hello),
        ("derby_ij", derby_ij),
    ];
    let trial = |(name, check): (&str, fn())| {
        let run = move || {
            check();
            Ok(())
        };
        Trial::test(format!("programs/{name}"), run).with_ignored_flag(true)
    };
    programs.into_iter().map(trial).collect()
}

fn check(sample: &Sample) {
    let present = |jar: &&&str| Path::new(jar).is_file();
    if let Some(missing) = sample.jars.iter().chain(sample.libraries).find(|jar| !present(jar)) {
        java::report(&format!("{}: skipped, {missing} is not installed", sample.name));
        return;
    }
    let jdk = &java::jdks()[0];
    let jars: Vec<PathBuf> = sample.jars.iter().map(PathBuf::from).collect();
    let path = java::class_path(jdk, jars.clone());
    let rewritten = Rewritten::new(jdk, &path);
    let all: Vec<PathBuf> =
        jars.into_iter().chain(sample.libraries.iter().map(PathBuf::from)).collect();
    let work = tempfile::tempdir().expect("a temporary folder");
    let mut command = rewritten.java(jdk, &all);
    command.arg(sample.main).args(sample.arguments).current_dir(work.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the JVM starts");
    let mut input = child.stdin.take().expect("it is piped");
    // A program that does not read its input is fine.
    let _ = input.write_all(sample.input.as_bytes());
    drop(input);
    let output = child.wait_with_output().expect("the JVM ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", sample.name);

    let mut program = Program::new(&path);
    let models = Models::builtin();
    let main = Entries::Patterns(vec![format!("{}.main", sample.main)]);
    let entries = EntryPoints::find(&mut program, &models, &main);
    let started = std::time::Instant::now();
    let graph = CallGraph::build(&mut program, &models, &entries);
    let seconds = started.elapsed().as_secs_f64();
    let missing = rewritten.unreachable(&mut program, &graph);
    let count: usize = missing.values().map(Vec::len).sum();
    java::report(&format!(
        "{}: {} methods executed, {} reachable, {count} executed but unreachable in {} classes, \
         {} classes not rewritten, {seconds:.1} s",
        sample.name,
        rewritten.executed().len(),
        graph.methods.len(),
        missing.len(),
        rewritten.refused.len(),
    ));
    for (class, methods) in &missing {
        java::report(&format!("    {class}: {}", methods.join(" ")));
    }
    assert!(count <= sample.gap, "{}: {count} methods are missing", sample.name);
}

/// Needs Debian's libh2-java.
fn h2_shell() {
    check(&Sample {
        name: "H2 shell",
        jars: &["/usr/share/java/h2.jar"],
        libraries: &[],
        main: "org.h2.tools.Shell",
        arguments: &["-url", "jdbc:h2:mem:test", "-user", "sa", "-password", ""],
        input: SQL,
        gap: 0,
    });
}

/// Needs Debian's libhsqldb-java.
fn hsqldb() {
    check(&Sample {
        name: "HSQLDB",
        jars: &["/usr/share/java/hsqldb.jar"],
        libraries: &["/usr/share/java/hsqldbutil.jar"],
        main: "org.hsqldb.cmdline.SqlTool",
        arguments: &[],
        input: SQL,
        gap: 0,
    });
}

/// Needs Debian's jython.
fn jython_hello() {
    check(&Sample {
        name: "Jython",
        jars: &["/usr/share/java/jython.jar"],
        libraries: &[],
        main: "org.python.util.jython",
        arguments: &["-c", "print 'hello'"],
        input: "",
        gap: 0,
    });
}

/// Needs Debian's libderby-java.
fn derby_ij() {
    check(&Sample {
        name: "Derby ij",
        jars: &["/usr/share/java/derby.jar", "/usr/share/java/derbytools.jar"],
        libraries: &[],
        main: "org.apache.derby.tools.ij",
        arguments: &[],
        input: "connect 'jdbc:derby:memory:t;create=true';\ncreate table t(id int primary key);\n\
                insert into t values 1, 2, 3;\nselect sum(id) from t where id > 1;\nexit;\n",
        gap: 0,
    });
}
