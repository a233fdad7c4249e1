//! HotSpot as the judge: classes of the JDK with all probes load under full verification, and javac,
//! made of such classes, compiles a program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use jimage_rs::JImage;
use unsnarl_events::Filters;
use unsnarl_instrument::{
    Caller, Calls, KnownClasses, Plan, RecordedCall, SiteNumbers, Task, rewrite, thread,
};
use unsnarl_models::Models;
use unsnarl_recording::{
    Dispatch, FieldName, MethodName, RecordedEvents, SiteOperation, Volatility,
};
use unsnarl_testing::{Jdk, report, run};

const MODULES: [&str; 3] = ["java.base", "java.logging", "jdk.compiler"];

const HOOKS: [(&str, &str); 4] = [
    ("UnsnarlArrays.java", include_str!("java/UnsnarlArrays.java")),
    ("UnsnarlCalls.java", include_str!("java/UnsnarlCalls.java")),
    ("UnsnarlExact.java", include_str!("java/UnsnarlExact.java")),
    ("UnsnarlHooks.java", include_str!("java/UnsnarlHooks.java")),
];

/// Fields of other classes are said to be all three: known either way, and unknown.
const VOLATILITIES: [Volatility; 3] =
    [Volatility::Plain, Volatility::Volatile, Volatility::Unknown];

/// Every call that some model may speak for is recorded, and every method that may be a task.
struct Everything(Calls);

impl KnownClasses for Everything {
    fn volatility(&self, field: &FieldName) -> Volatility {
        VOLATILITIES[field.name.len() % 3]
    }

    fn call(&self, method: &MethodName, dispatch: Dispatch) -> Option<RecordedCall> {
        match dispatch {
            Dispatch::Virtual | Dispatch::Interface => {
                self.0.virtual_call(method, Caller::Program, |_| true)
            }
            Dispatch::Static | Dispatch::Special => {
                self.0.known_call(&method.class, method, Caller::Program)
            }
        }
    }

    fn task(&self, _class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Task> {
        self.0.task(name, descriptor)
    }
}

#[derive(Debug, Default)]
struct Counts {
    classes: usize,
    sites: usize,
    calls: usize,
    tasks: usize,
    notes: usize,
}

#[test]
fn rewritten_classes_of_the_jdk_verify_and_work() {
    for jdk in unsnarl_testing::jdks() {
        let folder = tempfile::tempdir().unwrap();
        let (counts, names) = rewrite_modules(&jdk, folder.path());
        report(&format!("{}: {counts:?}", jdk.name()));
        assert!(counts.sites > 100_000 && counts.calls > 10_000 && counts.tasks > 1000);
        compile_hooks(&jdk, folder.path());

        let load = folder.path().join("Load.java");
        std::fs::write(&load, unsnarl_testing::LOAD).unwrap();
        jdk.compile([load.as_path()], folder.path());
        let list = folder.path().join("classes.txt");
        std::fs::write(&list, names).unwrap();
        let mut java = patched_java(&jdk, folder.path());
        let output = run(java.arg("-cp").arg(folder.path()).arg("Load").arg(&list));
        let expected = format!("linked {} refused 0 other 0", counts.classes);
        assert!(output.lines().any(|line| line == expected), "{expected}\n{output}");

        let target = folder.path().join("compiled");
        let mut javac = patched_java(&jdk, folder.path());
        run(javac.arg("com.sun.tools.javac.Main").arg("-d").arg(&target).arg(&load));
        assert!(target.join("Load.class").is_file());
    }
}

/// Rewrites every class of the modules into folders of their names, and lists them for `Load`.
fn rewrite_modules(jdk: &Jdk, folder: &Path) -> (Counts, String) {
    let image = JImage::open(jdk.home.join("lib/modules")).unwrap();
    let numbers = SiteNumbers::default();
    let mut plan = Plan::default();
    plan.spec.events.contents = true;
    let known_classes = Everything(Calls::new(Arc::new(Models::builtin()), &plan));
    let mut counts = Counts::default();
    let mut names = String::new();
    for name in image.resource_names_iter() {
        let name = name.unwrap();
        if name.extension != "class" || !MODULES.contains(&&*name.module) {
            continue;
        }
        let (module, path) = name.get_full_name();
        if path == "module-info.class" {
            continue;
        }
        let bytes = image.find_resource(&format!("/{module}/{path}")).unwrap().unwrap();
        // Every other class has all probes, the others those that are not redundant.
        let mut plan = Plan::default();
        plan.spec.filters = if counts.classes % 2 == 0 { Filters::NONE } else { Filters::ALL };
        plan.spec.events = RecordedEvents {
            methods: counts.classes % 3 == 0,
            allocations: counts.classes % 3 == 1,
            references: counts.classes % 3 == 1,
            exact: counts.classes % 5 == 0,
            ..RecordedEvents::ACCESSES
        };
        let rewritten = rewrite(&bytes, &plan, &numbers, &known_classes, false)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        counts.classes += 1;
        names += &format!("{module} {}\n", path.trim_end_matches(".class").replace('/', "."));
        let Some(rewritten) = rewritten else { continue };
        counts.sites += rewritten.sites.len();
        let count = |is: fn(&SiteOperation) -> bool| {
            rewritten.sites.iter().filter(|site| is(&site.operation)).count()
        };
        counts.calls += count(|it| matches!(it, SiteOperation::Call(..)));
        counts.tasks += count(|it| matches!(it, SiteOperation::Task));
        counts.notes += rewritten.notes.len();
        let mut result = rewritten.bytes;
        if path == "jdk/internal/reflect/Reflection.class" {
            result = unsnarl_instrument::reflection::hook(&result).unwrap();
        }
        if path == "java/lang/Thread.class" || path == "java/lang/VirtualThread.class" {
            result = thread::hook(&result).unwrap();
        }
        let file = folder.join(&module).join(&path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, result).unwrap();
    }
    (counts, names)
}

fn compile_hooks(jdk: &Jdk, folder: &Path) {
    let sources = folder.join("hooks/java/lang");
    std::fs::create_dir_all(&sources).unwrap();
    let mut files = Vec::new();
    for (name, source) in HOOKS {
        let file = sources.join(name);
        std::fs::write(&file, source).unwrap();
        files.push(file);
    }
    let mut javac = jdk.command("javac");
    let patch = format!("java.base={}", folder.join("hooks").display());
    javac.arg("--patch-module").arg(patch).arg("-d").arg(folder.join("java.base"));
    run(javac.args(&files));
}

/// A `java` that takes the modules from below `folder` and verifies all it loads.
fn patched_java(jdk: &Jdk, folder: &Path) -> std::process::Command {
    let mut java = jdk.command("java");
    java.args(["-Xshare:off", "-XX:+UnlockDiagnosticVMOptions"]);
    java.args(["-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote"]);
    for module in MODULES {
        let path = folder.join(module);
        java.arg("--patch-module").arg(format!("{module}={}", path.display()));
        java.arg("--add-modules").arg(module);
    }
    java
}
