//! What the embedded models say, where an analysis depends on it.

use unsnarl_models::{Models, Treatment};

fn says(models: &Models, class: &str, name: &str, descriptor: &str) -> Vec<String> {
    let class_model = models.methods_of(class.as_bytes());
    let model = class_model.and_then(|class| class.method(name.as_bytes(), descriptor.as_bytes()));
    let model = model.unwrap_or_else(|| panic!("no model of {class}.{name}{descriptor}"));
    model.effects.iter().map(ToString::to_string).collect()
}

#[test]
fn threads_and_tasks_start_and_are_joined() {
    let models = Models::builtin();
    let thread = |name, descriptor| says(&models, "java/lang/Thread", name, descriptor);
    assert_eq!(thread("start", "()V")[0], "start this.run() as thread in this");
    assert_eq!(thread("run", "()V"), ["call this.task.run()"]);
    assert_eq!(thread("join", "()V"), ["join this"]);
    assert_eq!(thread("join", "(J)V"), ["join this timed when finished"]);
    assert_eq!(thread("isAlive", "()Z"), ["join this try when false"]);
    assert_eq!(
        thread("<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;Ljava/lang/String;)V"),
        ["flow arg1 -> this.task"]
    );
    assert!(thread("<init>", "(Ljava/lang/String;)V").is_empty());

    let service = "java/util/concurrent/ExecutorService";
    let future = "(Ljava/util/concurrent/Callable;)Ljava/util/concurrent/Future;";
    assert_eq!(
        says(&models, service, "submit", future)[1],
        "start arg0.call() -> result.value as pool-task in this, result"
    );
    assert_eq!(says(&models, service, "close", "()V"), ["join this"]);
    let executors = "java/util/concurrent/Executors";
    let single = "()Ljava/util/concurrent/ExecutorService;";
    assert!(
        says(&models, executors, "newSingleThreadExecutor", single)
            .contains(&"serial result".to_owned())
    );
}

#[test]
fn effects_depend_on_the_outcome() {
    let models = Models::builtin();
    let lock = "java/util/concurrent/locks/Lock";
    assert_eq!(says(&models, lock, "tryLock", "()Z"), ["acquire this try when true"]);
    let read_lock = "java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock";
    assert_eq!(says(&models, read_lock, "lock", "()V"), ["acquire this.owner shared"]);
    let queue = "java/util/concurrent/BlockingQueue";
    assert_eq!(
        says(&models, queue, "poll", "(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;")[0],
        "receive result in this timed when nonnull"
    );
}

#[test]
fn a_handle_is_found_whatever_the_signature_of_the_call() {
    let models = Models::builtin();
    for descriptor in ["(Lbank/Account;II)Z", "([Ljava/lang/Object;)Z"] {
        let effects = says(&models, "java/lang/invoke/VarHandle", "compareAndSet", descriptor);
        assert!(effects.contains(&"receive arg0[this]".to_owned()));
        assert!(effects.contains(&"send arg0[this] when true".to_owned()));
    }
    let plain = says(&models, "java/lang/invoke/VarHandle", "get", "(Lbank/Account;)I");
    assert_eq!(plain, ["read arg0[this]", "return arg0[this]"]);
}

#[test]
fn packages_are_treated_as_planned() {
    let models = Models::builtin();
    for (class, expected) in [
        ("bank/Account", Treatment::Analyse),
        ("java/util/ArrayList", Treatment::Model),
        ("java/util/ArrayList$Itr", Treatment::Model),
        ("java/util/AbstractList", Treatment::Analyse),
        ("java/util/Collections$SynchronizedList", Treatment::Analyse),
        ("java/util/concurrent/ConcurrentHashMap", Treatment::Model),
        ("java/util/concurrent/AbstractExecutorService", Treatment::Analyse),
        ("java/util/function/Function", Treatment::Analyse),
        ("java/lang/String", Treatment::Opaque),
        ("java/lang/IllegalStateException", Treatment::Analyse),
        ("jdk/internal/misc/Unsafe", Treatment::Opaque),
        ("javax/servlet/http/HttpServlet", Treatment::Analyse),
    ] {
        assert_eq!(models.treatment(class), expected, "{class}");
    }
}

#[test]
fn entry_sets_have_names_and_members() {
    let models = Models::builtin();
    let names: Vec<_> = models.entries().iter().map(|set| &*set.name).collect();
    for name in ["main", "junit", "servlet", "thread-safe"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for set in models.entries() {
        let members = set.annotated.len()
            + set.annotated_classes.len()
            + set.overrides.len()
            + set.named.len();
        assert!(members > 0, "{}", set.name);
    }
}

#[test]
fn every_file_in_the_folder_is_embedded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
    let table = include_str!("../src/builtin.rs");
    let files = std::fs::read_dir(folder).expect("the folder of the data files");
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        assert!(table.contains(&format!("\"{name}\"")), "{name} is not embedded");
    }
}
