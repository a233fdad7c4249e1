//! Calls of library methods, as they are recorded, become the order that the models say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use unsnarl_events::{Channel, Event, Lock, Operation, Source, Tables};
use unsnarl_recording::format::{ARENA_MARK, CHUNK_HEADER, CHUNK_MARK, Kind};
use unsnarl_recording::{ChunkPlace, Files};
use unsnarl_replay::Session;

/// The sites of the tests, by their numbers.
const SITES: [&str; 15] = [
    "java/util/concurrent/locks/Lock\tlock\t()V\tvirtual",
    "java/util/concurrent/locks/Lock\tunlock\t()V\tvirtual",
    "java/util/concurrent/locks/Lock\ttryLock\t()Z\tvirtual",
    "java/util/concurrent/atomic/AtomicInteger\tcompareAndSet\t(II)Z\tvirtual",
    "java/util/concurrent/atomic/AtomicInteger\tget\t()I\tvirtual",
    "java/util/concurrent/Executor\texecute\t(Ljava/lang/Runnable;)V\tvirtual",
    "java/util/concurrent/ExecutorService\tsubmit\t(Ljava/lang/Runnable;)Ljava/util/concurrent/Future;\tvirtual",
    "java/util/concurrent/Future\tget\t()Ljava/lang/Object;\tvirtual",
    "java/util/concurrent/locks/Condition\tawait\t()V\tvirtual",
    "java/util/concurrent/locks/Lock\tnewCondition\t()Ljava/util/concurrent/locks/Condition;\tvirtual",
    "java/util/concurrent/BlockingQueue\tput\t(Ljava/lang/Object;)V\tvirtual",
    "java/util/concurrent/BlockingQueue\ttake\t()Ljava/lang/Object;\tvirtual",
    "java/util/concurrent/ForkJoinTask\tinvokeAll\t(Ljava/util/Collection;)Ljava/util/Collection;\tstatic",
    "java/util/concurrent/CompletableFuture\tthenCompose\t(Ljava/util/function/Function;)Ljava/util/concurrent/CompletableFuture;\tvirtual",
    "java/lang/invoke/VarHandle\tcompareAndSet\t(LA;II)Z\tvirtual",
];
const LOCK: u32 = 1;
const UNLOCK: u32 = 2;
const TRY_LOCK: u32 = 3;
const COMPARE_AND_SET: u32 = 4;
const GET: u32 = 5;
const SUBMIT: u32 = 7;
const FUTURE_GET: u32 = 8;
const AWAIT: u32 = 9;
const NEW_CONDITION: u32 = 10;
const PUT: u32 = 11;
const TAKE: u32 = 12;
const RUN: u32 = 20;

/// The classes of objects, whose ids are ten times the place of the class, from 10.
const CLASSES: [&str; 7] = [
    "java/util/concurrent/locks/ReentrantLock",
    "java/util/concurrent/atomic/AtomicInteger",
    "java/util/concurrent/ThreadPoolExecutor",
    "java/util/concurrent/FutureTask",
    "A",
    "java/util/concurrent/LinkedBlockingQueue",
    "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject",
];
const A_LOCK: u64 = 10;
const AN_INTEGER: u64 = 20;
const A_POOL: u64 = 30;
const A_FUTURE: u64 = 40;
const A_TASK: u64 = 50;
const A_QUEUE: u64 = 60;
const A_CONDITION: u64 = 70;
const OF_CLASS: u64 = 1000;

const ABOVE: &str = "\
java/util/concurrent/locks/ReentrantLock\tjava/lang/Object\t1\tjava/util/concurrent/locks/Lock\t0\n\
java/util/concurrent/ThreadPoolExecutor\tjava/lang/Object\t1\tjava/util/concurrent/ExecutorService\t0\n\
java/util/concurrent/FutureTask\tjava/lang/Object\t1\tjava/util/concurrent/Future\t0\n\
java/util/concurrent/LinkedBlockingQueue\tjava/lang/Object\t1\tjava/util/concurrent/BlockingQueue\t0\n\
java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject\tjava/lang/Object\t1\tjava/util/concurrent/locks/Condition\t0\n\
java/util/concurrent/ExecutionException\tjava/lang/Exception\t0\t0\n\
A\tjava/lang/Object\t1\tjava/lang/Runnable\t1\trun\t()V\n";
const EXECUTION_EXCEPTION: u64 = 2000;

/// What two threads wrote; numbers are given in the order of the calls here.
#[derive(Default)]
struct Recorded {
    threads: [Vec<u64>; 2],
    calls: [u32; 2],
    number: u64,
}

impl Recorded {
    fn event(&mut self, thread: usize, kind: Kind, site: u32, words: [u64; 2]) {
        let first = u64::from(site) << 8 | u64::from(kind.number());
        self.threads[thread].extend([first, words[0], words[1]]);
    }

    fn numbered(&mut self, thread: usize, kind: Kind, site: u32, word: u64) {
        self.number += 1;
        self.event(thread, kind, site, [self.number, word]);
    }

    /// A call begins; what is returned ends it.
    fn begin(&mut self, thread: usize, site: u32, receiver: u64, operands: &[(u64, u64)]) -> u32 {
        for &(place, value) in operands {
            self.event(thread, Kind::CallOperand, 0, [place, value]);
        }
        self.numbered(thread, Kind::CallBegins, site, receiver);
        self.calls[thread] += 1;
        self.calls[thread]
    }

    /// The same for a call that only looks.
    fn look(&mut self, thread: usize, site: u32, receiver: u64) -> u32 {
        let first = u64::from(site) << 8 | u64::from(Kind::CallLooks.number());
        self.threads[thread].extend([first, receiver]);
        self.calls[thread] += 1;
        self.calls[thread]
    }

    fn end(&mut self, thread: usize, call: u32, result: u64) {
        self.numbered(thread, Kind::CallEnds, call, result);
    }

    fn call(&mut self, thread: usize, site: u32, receiver: u64, operand: u64, result: u64) {
        let operands: &[(u64, u64)] = if operand == 0 { &[] } else { &[(0, operand)] };
        let call = self.begin(thread, site, receiver, operands);
        self.end(thread, call, result);
    }

    fn files(&self) -> Files {
        let (mut arena, mut chunks) = (ARENA_MARK.to_vec(), Vec::new());
        for (thread, events) in self.threads.iter().enumerate() {
            let objects = (1..=CLASSES.len() as u64)
                .flat_map(|place| [u64::from(Kind::Object.number()), 10 * place, OF_CLASS + place]);
            let words: Vec<u64> = objects.chain(events.iter().copied()).collect();
            let size = (CHUNK_HEADER + 8 * words.len() + 8) as u64;
            let place = ChunkPlace {
                arena: 0,
                offset: arena.len() as u32,
                size: size as u32,
                thread: thread as u64 + 1,
                sequence: 0,
            };
            chunks.extend(place.to_bytes());
            let head = [size << 32 | u64::from(CHUNK_MARK), thread as u64 + 1, 0];
            let all = head.into_iter().chain(words).chain([0]);
            arena.extend(all.flat_map(u64::to_le_bytes));
        }
        let sites = SITES.iter().enumerate();
        let mut sites: String = sites
            .map(|(place, site)| format!("{}\tA\tm\t()V\t\t\tcall\t{site}\n", place + 1))
            .collect();
        sites += &format!("{RUN}\tA\trun\t()V\t\t\ttask\n");
        let names = CLASSES.iter().enumerate().map(|(place, name)| {
            format!("class\t{}\t{}\n", OF_CLASS + 1 + place as u64, name.replace('/', "."))
        });
        let mut names: String = names.collect();
        names +=
            &format!("class\t{EXECUTION_EXCEPTION}\tjava.util.concurrent.ExecutionException\n");
        Files {
            arenas: vec![arena],
            chunks,
            sites: sites.into(),
            classes: ABOVE.into(),
            names: names.into(),
            log: Vec::new(),
        }
    }

    /// Every event as thread, operation and the number of the object.
    fn lines(&self) -> Vec<String> {
        let mut session = Session::new(self.files());
        let mut events = Vec::new();
        session.next_batch(&mut events).unwrap();
        assert_eq!(session.problems().count(), 0, "{:?}", session.problems());
        events.iter().map(|event| line(event, session.tables())).collect()
    }
}

fn line(event: &Event, tables: &Tables) -> String {
    let lock = |lock| match tables.locks[lock] {
        Lock::Object(object) => tables.objects[object].number,
        Lock::Named(_) => 0,
    };
    let channel = |channel| match tables.channels[channel] {
        Channel::Object(object) => tables.objects[object].number,
        _ => 0,
    };
    let what = match event.operation {
        Operation::Request(it) => format!("request {}", lock(it)),
        Operation::Acquire(it) => format!("acquire {}", lock(it)),
        Operation::Release(it) => format!("release {}", lock(it)),
        Operation::Wait(it) => format!("wait {}", lock(it)),
        Operation::Wake(it) => format!("wake {}", lock(it)),
        Operation::Send(it) => format!("send {}", channel(it)),
        Operation::Receive(it) => format!("receive {}", channel(it)),
        other => format!("{other:?}"),
    };
    format!("{} {what}", tables.text(tables.threads[event.thread].name))
}

#[test]
fn a_lock_is_held_from_the_end_of_one_call_to_the_beginning_of_another() {
    let mut it = Recorded::default();
    it.call(0, UNLOCK, A_LOCK, 0, 0);
    let waits = it.begin(1, LOCK, A_LOCK, &[]);
    it.call(0, TRY_LOCK, A_LOCK, 0, 1);
    it.call(0, TRY_LOCK, A_LOCK, 0, 0);
    it.call(0, UNLOCK, A_LOCK, 0, 0);
    it.end(1, waits, 0);
    let expected = [
        "thread 2 request 10",
        "thread 1 acquire 10",
        "thread 1 release 10",
        "thread 2 acquire 10",
    ];
    assert_eq!(it.lines(), expected);
}

#[test]
fn what_fails_sends_nothing() {
    let mut it = Recorded::default();
    it.call(0, COMPARE_AND_SET, AN_INTEGER, 0, 0);
    it.call(1, GET, AN_INTEGER, 0, 0);
    it.call(0, COMPARE_AND_SET, AN_INTEGER, 0, 1);
    it.call(1, GET, AN_INTEGER, 0, 1);
    let expected = ["thread 1 send 20", "thread 1 receive 20", "thread 2 receive 20"];
    assert_eq!(it.lines(), expected);
}

#[test]
fn a_call_that_only_looks_takes_where_it_ends() {
    let mut it = Recorded::default();
    let looks = it.look(1, GET, AN_INTEGER);
    it.call(0, COMPARE_AND_SET, AN_INTEGER, 0, 1);
    it.end(1, looks, 1);
    let early = it.look(1, GET, AN_INTEGER);
    it.end(1, early, 1);
    it.call(0, COMPARE_AND_SET, AN_INTEGER, 0, 1);
    let expected = [
        "thread 1 send 20",
        "thread 1 receive 20",
        "thread 2 receive 20",
        "thread 2 receive 20",
        "thread 1 send 20",
        "thread 1 receive 20",
    ];
    assert_eq!(it.lines(), expected);
}

#[test]
fn an_element_is_handed_over_in_its_container() {
    let mut it = Recorded::default();
    it.call(0, PUT, A_QUEUE, A_TASK, 0);
    it.call(1, TAKE, A_QUEUE, 0, A_LOCK);
    it.call(1, TAKE, A_QUEUE, 0, A_TASK);
    // For the element and for any element.
    let expected = ["thread 1 send 60", "thread 1 send 60", "thread 2 receive 60"];
    assert_eq!(it.lines(), expected);
}

/// The task may begin and end before its future is returned.
#[test]
fn a_task_is_joined_by_its_future() {
    let mut it = Recorded::default();
    let submit = it.begin(0, SUBMIT, A_POOL, &[(0, A_TASK)]);
    it.numbered(1, Kind::TaskBegins, RUN, A_TASK);
    it.numbered(1, Kind::TaskEnds, RUN, A_TASK);
    it.end(0, submit, A_FUTURE);
    it.call(0, FUTURE_GET, A_FUTURE, 0, 0);
    let expected = [
        "thread 1 send 50",
        "thread 2 receive 50",
        "thread 2 send 50",
        "thread 2 send 30",
        "thread 1 receive 50",
    ];
    assert_eq!(it.lines(), expected);
}

#[test]
fn a_failure_joins_as_far_as_the_model_says() {
    let mut it = Recorded::default();
    it.call(0, SUBMIT, A_POOL, A_TASK, A_FUTURE);
    it.numbered(1, Kind::TaskBegins, RUN, A_TASK);
    it.numbered(1, Kind::TaskEnds, RUN, A_TASK);
    let get = it.begin(0, FUTURE_GET, A_FUTURE, &[]);
    it.numbered(0, Kind::CallFails, get, OF_CLASS + 1);
    let joined_before = it.lines().len();
    let get = it.begin(0, FUTURE_GET, A_FUTURE, &[]);
    it.numbered(0, Kind::CallFails, get, EXECUTION_EXCEPTION);
    let lines = it.lines();
    assert_eq!(lines[joined_before..], ["thread 1 receive 50"]);
    assert_eq!(lines[..joined_before].iter().filter(|line| line.contains("1 receive")).count(), 0);
}

#[test]
fn who_is_interrupted_has_the_lock_again() {
    let mut it = Recorded::default();
    it.call(0, NEW_CONDITION, A_LOCK, 0, A_CONDITION);
    it.call(0, LOCK, A_LOCK, 0, 0);
    let waits = it.begin(0, AWAIT, A_CONDITION, &[]);
    it.call(1, LOCK, A_LOCK, 0, 0);
    it.call(1, UNLOCK, A_LOCK, 0, 0);
    it.numbered(0, Kind::CallFails, waits, OF_CLASS + 1);
    it.call(0, UNLOCK, A_LOCK, 0, 0);
    let expected = [
        "thread 1 request 10",
        "thread 1 acquire 10",
        "thread 1 wait 10",
        "thread 2 request 10",
        "thread 2 acquire 10",
        "thread 2 release 10",
        "thread 1 wake 10",
        "thread 1 release 10",
    ];
    assert_eq!(it.lines(), expected);
}

proptest! {
    /// Whatever calls are recorded, in whatever nonsensical order, there is a trace.
    #[test]
    fn nothing_panics(
        events in prop::collection::vec((0..2_usize, 0..9_usize, 0..22_u32, 0..90_u64, 0..90_u64), 0..60)
    ) {
        const KINDS: [Kind; 9] = [
            Kind::CallOperand,
            Kind::CallBegins,
            Kind::CallEnds,
            Kind::CallFails,
            Kind::TaskBegins,
            Kind::TaskEnds,
            Kind::ThreadObject,
            Kind::ThreadEnd,
            Kind::CallLooks,
        ];
        let mut it = Recorded::default();
        for (thread, kind, site, first, second) in events {
            let kind = KINDS[kind];
            // Ids that are those of objects more often than not.
            let id = |number: u64| if number < 70 { number / 10 * 10 } else { number };
            match kind {
                Kind::CallOperand => it.event(thread, kind, site, [first % 3 * 0x100 + first % 2, id(second)]),
                Kind::ThreadObject => it.event(thread, kind, site, [id(first), id(second)]),
                Kind::CallLooks => {
                    it.look(thread, site, id(second));
                }
                Kind::ThreadEnd => {
                    it.number += 1;
                    let word = [u64::from(site) << 8 | u64::from(kind.number()), it.number];
                    it.threads[thread].extend(word);
                }
                _ => it.numbered(thread, kind, site, id(second)),
            }
        }
        let mut session = Session::new(it.files());
        let mut events = Vec::new();
        session.next_batch(&mut events).unwrap();
        for event in &events {
            let _ = line(event, session.tables());
        }
    }
}
