//! Accesses that conflict, and accesses that do not.

use unsnarl_symbolic::{Order, UseKind};

use crate::Case;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        an_unguarded_counter_conflicts(),
        start_and_join_order(),
        monitors_exclude(),
        the_dining_philosophers_are_safe(),
    ]
}

fn an_unguarded_counter_conflicts() -> Case {
    let source = "
class Main {
    static int count;
    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> count++);
        t.start();
        count++;
    }
}
";
    Case::new("an_unguarded_counter_conflicts", source.to_owned(), |a| {
        assert_eq!(a.conflicts("count"), [(5, 7)]);
        assert_eq!(a.thread_names()[0], "main");
        assert!(a.thread_names().contains(&"thread at Main.java:6".to_owned()));
        true
    })
}

fn start_and_join_order() -> Case {
    let source = "
class Main {
    static int count;
    public static void main(String[] args) throws Exception {
        count = 1;
        Thread t = new Thread(() -> count++);
        t.start();
        t.join();
        count++;
    }
}
";
    Case::new("start_and_join_order", source.to_owned(), |a| {
        assert_eq!(a.conflicts("count"), []);
        assert!(a.is_ordered_by("count", Order::Start));
        assert!(a.is_ordered_by("count", Order::Join { is_assumed: false }));
        true
    })
}

fn monitors_exclude() -> Case {
    let source = "
class Counter {
    private int value;
    private int other;
    synchronized void add() { value++; }
    int get() { synchronized (this) { return value; } }
    void bad() { other++; }
}
class Main {
    public static void main(String[] args) throws Exception {
        Counter c = new Counter();
        for (int i = 0; i < 2; i++) {
            new Thread(() -> { c.add(); c.bad(); }).start();
        }
        System.out.println(c.get());
    }
}
";
    Case::new("monitors_exclude", source.to_owned(), |a| {
        assert_eq!(a.conflicts("value"), []);
        assert_eq!(a.conflicts("other"), [(7, 7)]);
        true
    })
}

fn the_dining_philosophers_are_safe() -> Case {
    let source = "
class Table {
    final boolean forks[];
    final int numPhil;
    int numSnacks;
    Table(int num_phil, int num_snacks) {
        numPhil = num_phil;
        numSnacks = num_snacks;
        forks = new boolean[num_phil];
        for (int i = 0; i < num_phil; ++i) forks[i] = true;
    }
    synchronized boolean getForks(int id) throws InterruptedException {
        int id2 = (id + 1) % numPhil;
        while (!(forks[id] && forks[id2])) wait();
        if (numSnacks > 0) {
            numSnacks--;
            forks[id] = forks[id2] = false;
            return true;
        } else {
            notify();
            return false;
        }
    }
    synchronized void putForks(int id) {
        int id2 = (id + 1) % numPhil;
        forks[id] = forks[id2] = true;
        notify();
    }
}
class Philo extends Thread {
    final int id;
    final Table tab;
    int snacksEaten;
    Philo(int i, Table t) { id = i; tab = t; snacksEaten = 0; }
    public void run() {
        try {
            while (tab.getForks(id)) {
                sleep((long) (Math.random() * 50));
                snacksEaten++;
                tab.putForks(id);
            }
        } catch (InterruptedException e) { }
    }
    void report() { System.out.println(\"Philo\" + id + \"ate\" + snacksEaten); }
}
class Main {
    public static void main(String args[]) {
        Table tab = new Table(2, 200);
        Philo[] p = new Philo[2];
        for (int i = 0; i < 2; ++i) { p[i] = new Philo(i, tab); p[i].start(); }
        try {
            for (int i = 0; i < 2; ++i) { p[i].join(); p[i].report(); }
        } catch (InterruptedException e) { }
    }
}
";
    Case::new("the_dining_philosophers_are_safe", source.to_owned(), |a| {
        assert_eq!(a.conflicts("numSnacks"), []);
        assert_eq!(a.conflicts("[]"), []);
        assert_eq!(a.conflicts("snacksEaten"), []);
        assert!(a.is_ordered_by("snacksEaten", Order::Fresh));
        assert!(a.is_ordered_by("snacksEaten", Order::Encapsulated));
        assert!(a.is_ordered_by("snacksEaten", Order::Join { is_assumed: false }));
        assert!(a.thread_names().contains(&"Philo".to_owned()));
        let eaten = a.events("snacksEaten");
        let philo = a.execution.events[eaten[0]].objects[0];
        let graph = a.execution.object_use_graph(&a.program, philo);
        let count = |kind| graph.nodes.values().filter(|used| used.kind == kind).count();
        // [vonPraun04, fig. 4.1]; the elements of the array are loaded by both calls.
        assert_eq!((count(UseKind::New), count(UseKind::Start), count(UseKind::Join)), (1, 1, 1));
        assert_eq!((count(UseKind::Put), count(UseKind::Get)), (2, 2));
        assert!(graph.nodes.values().any(|used| used.kind == UseKind::Put && used.is_new_safe));
        assert!(!graph.reference_flow.is_empty() && !graph.thread_control.is_empty());
        true
    })
}
