//! The readers of foreign traces: what is written is read back, what is damaged is skipped and reported.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::path::Path;

use proptest::prelude::*;
use unsnarl_entity::EntityId;
use unsnarl_events::rapid_bin::RapidBinReader;
use unsnarl_events::std_text::{StdReader, StdWriter};
use unsnarl_events::{
    Channel, ChannelId, Event, Lock, LockId, MethodId, NameId, Operation, SiteId, Source, Tables,
    ThreadId, TraceError, Variable, VariableId, open_file,
};

/// Gives a few bytes at a time, so that lines and events are cut everywhere.
struct Dripping<'b>(&'b [u8], usize);

impl Read for Dripping<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(to.len()).min(self.0.len());
        to[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

/// All events, and what was reported about the rest.
fn all(source: &mut dyn Source) -> Result<(Vec<Event>, Vec<String>), TraceError> {
    let (mut events, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            let problems = source.problems();
            let told: Vec<String> = problems.first().iter().map(ToString::to_string).collect();
            assert!(problems.count() >= told.len() as u64);
            return Ok((events, told));
        }
        events.extend_from_slice(&batch);
    }
}

fn read_std(text: &str) -> Result<(Vec<String>, Vec<String>), TraceError> {
    let mut reader = StdReader::new(text.as_bytes(), Path::new("a.std"));
    let (events, told) = all(&mut reader)?;
    Ok((events.iter().map(|event| shown(event, reader.tables())).collect(), told))
}

/// The event with the names of the trace, as far as these tests need it.
fn shown(event: &Event, tables: &Tables) -> String {
    let thread = tables.text(tables.threads[event.thread].name);
    let target = match event.operation {
        Operation::Read(v) | Operation::Write(v) => variable_name(v, tables),
        Operation::Acquire(l) | Operation::Release(l) => lock_name(l, tables),
        Operation::Fork(t) | Operation::Join(t) => Some(tables.threads[t].name),
        _ => None,
    };
    let target = target.map_or(String::new(), |name| tables.text(name).into_owned());
    let operation = format!("{:?}", event.operation);
    let word = operation.split('(').next().unwrap().to_lowercase();
    format!("{thread} {word} {target} {}", event.site.index())
}

fn variable_name(variable: VariableId, tables: &Tables) -> Option<NameId> {
    match tables.variables[variable] {
        Variable::Named(name) => Some(name),
        _ => None,
    }
}

fn lock_name(lock: LockId, tables: &Tables) -> Option<NameId> {
    match tables.locks[lock] {
        Lock::Named(name) => Some(name),
        Lock::Object(_) => None,
    }
}

#[test]
fn std_is_read_with_its_names() {
    let text = "T0|w(V1)|1\nmain|r(a.B#3.x)|2\r\n\n// a remark|with|bars\nT0|acq(L0)|3 // here\n\
                T0|rel(L0)|4\nT0|fork(main)|5\nT0|join(main)|4294967295\nT0|begin|7\nT0|end(x)|8\n\
                T0|branch|9";
    let (events, told) = read_std(text).unwrap();
    assert_eq!(
        events,
        [
            "T0 write V1 1",
            "main read a.B#3.x 2",
            "T0 acquire L0 3",
            "T0 release L0 4",
            "T0 fork main 5",
            "T0 join main 4294967295",
            "T0 transactionbegin  7",
            "T0 transactionend  8",
        ]
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn names_that_look_alike_are_different_things() {
    let mut reader = StdReader::new(
        &b"T1|w(V1)|1\nT01|w(V01)|2\nt1|w(v1)|3\nT1|w(T1)|4\n"[..],
        Path::new("a.std"),
    );
    all(&mut reader).unwrap();
    assert_eq!((reader.tables().threads.len(), reader.tables().variables.len()), (3, 4));
}

#[test]
fn damaged_lines_are_skipped_and_told_with_their_number() {
    let text = "T0|w(V1)|1\nT0|w(V1)\nT0\nT0|q(V1)|2\n|w(V1)|3\nT0|w()|4\nT0|w(V1)|x\nT0|w(V1|8\n\
                T0|w(V 1)|4\nT1|r(V1)|4294967296\nT1|r(V1)|5\n";
    let (events, told) = read_std(text).unwrap();
    assert_eq!(events, ["T0 write V1 1", "T1 read V1 5"]);
    assert_eq!(
        told,
        [
            "line 2: expected a second '|' before the location, found 'T0|w(V1)'",
            "line 3: expected thread|operation|location, found 'T0'",
            "line 4: expected an operation such as w(V1), found 'q(V1)'",
            "line 5: expected the name of a thread, found ''",
            "line 6: expected an operation such as w(V1), found 'w()'",
        ]
    );
    let mut reader = StdReader::new(text.as_bytes(), Path::new("a.std"));
    all(&mut reader).unwrap();
    assert_eq!(reader.problems().count(), 9);
}

#[test]
fn a_line_without_end_takes_no_memory_and_the_rest_is_read() {
    let mut text = "T0|w(V1)|1\n".to_owned();
    text.push_str(&"x".repeat(3 << 20));
    text.push_str("\nT1|r(V1)|2\n");
    let (events, told) = read_std(&text).unwrap();
    assert_eq!(events, ["T0 write V1 1", "T1 read V1 2"]);
    assert_eq!(
        told,
        ["line 2: expected a line of less than a million characters, found a longer one"]
    );
}

#[test]
fn what_has_no_event_at_all_is_no_trace() {
    let error = read_std("PK\u{3}\u{4}\nwhatever\n").unwrap_err().to_string();
    assert!(error.starts_with("a.std is no trace: line 1: expected thread|"), "{error}");
    assert_eq!(read_std("").unwrap(), (vec![], vec![]));
    let folder = tempfile::tempdir().unwrap();
    let error = open_file(&folder.path().join("none")).err().unwrap().to_string();
    assert!(error.starts_with("cannot open ") && error.contains("none"), "{error}");
}

/// A word of RapidBin.
fn word(location: u64, target: u64, operation: u64, thread: u64) -> [u8; 8] {
    (location << 48 | target << 14 | operation << 10 | thread).to_be_bytes()
}

fn rapid_bin(announced: u64, words: &[[u8; 8]]) -> Vec<u8> {
    let mut bytes = vec![0, 2, 0, 0, 0, 1, 0, 0, 0, 1];
    bytes.extend(announced.to_be_bytes());
    bytes.extend(words.concat());
    bytes
}

fn read_rapid_bin(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), TraceError> {
    let mut reader = RapidBinReader::new(Dripping(bytes, 5), Path::new("a.bin"));
    let (events, told) = all(&mut reader)?;
    Ok((events.iter().map(|event| shown(event, reader.tables())).collect(), told))
}

#[test]
fn rapid_bin_is_read() {
    let words = [
        word(42, 1, 4, 0),
        word(362, 7, 8, 0),
        word(362, 7, 0, 0),
        word(436, (1 << 34) - 1, 2, 1023),
        word(923, 200, 3, 0),
        word(362, 7, 1, 0),
        word(32767, 1, 5, 0),
        word(1, 0, 6, 0),
        word(2, 0, 7, 0),
    ];
    let (events, told) = read_rapid_bin(&rapid_bin(9, &words)).unwrap();
    assert_eq!(
        events,
        [
            "T0 fork T1 42",
            "T0 request  362",
            "T0 acquire L7 362",
            "T1023 read V17179869183 436",
            "T0 write V200 923",
            "T0 release L7 362",
            "T0 join T1 32767",
            "T0 transactionbegin  1",
            "T0 transactionend  2",
        ]
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn damage_in_rapid_bin_is_told_with_its_place() {
    let words = [word(1, 1, 3, 0), word(1, 1, 9, 0), [0xff; 8], word(2, 1, 2, 1)];
    let mut bytes = rapid_bin(6, &words);
    bytes.extend([0, 0, 0]);
    let (events, told) = read_rapid_bin(&bytes).unwrap();
    assert_eq!(events, ["T0 write V1 1", "T1 read V1 2"]);
    assert_eq!(
        told,
        [
            "byte 26: expected an event with an operation from 0 to 8, found 0001000000006400",
            "byte 34: expected an event with an operation from 0 to 8, found ffffffffffffffff",
            "the end: expected as many events as the header announces, found 4 of 6",
        ]
    );
    let error = read_rapid_bin(&bytes[..17]).unwrap_err().to_string();
    assert_eq!(error, "a.bin is no trace: expected a header of 18 bytes, found 17 bytes");
    let error = read_rapid_bin(&rapid_bin(u64::MAX, &[])).unwrap_err().to_string();
    assert!(error.contains("found 0 of 18446744073709551615"), "{error}");
}

#[test]
fn the_form_of_a_file_is_seen_from_its_first_byte() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        open_file(&path).unwrap()
    };
    let mut text = write("text", b"T0|w(V1)|1\n");
    assert_eq!(all(&mut *text).unwrap().0.len(), 1);
    let mut binary = write("binary.std", &rapid_bin(1, &[word(1, 1, 3, 0)]));
    assert_eq!(all(&mut *binary).unwrap().0.len(), 1);
    let mut empty = write("empty", b"");
    assert!(all(&mut *empty).unwrap().0.is_empty());
}

fn operation() -> impl Strategy<Value = Operation> {
    // Numbers on both sides of where tables of numbers end.
    let number = prop_oneof![0..5_usize, (1 << 20) - 2..(1 << 20) + 2_usize];
    (0..20, number).prop_map(|(kind, number)| {
        let lock = LockId::from_index(number);
        match kind {
            0 => Operation::Read(VariableId::from_index(number)),
            1 => Operation::Write(VariableId::from_index(number)),
            2 => Operation::Acquire(lock),
            3 => Operation::Release(lock),
            4 => Operation::AcquireShared(lock),
            5 => Operation::ReleaseShared(lock),
            6 => Operation::Request(lock),
            7 => Operation::Wait(lock),
            8 => Operation::Wake(lock),
            9 => Operation::Notify(lock),
            10 => Operation::Fork(ThreadId::from_index(number)),
            11 => Operation::Join(ThreadId::from_index(number)),
            12 => Operation::Send(ChannelId::from_index(number)),
            13 => Operation::Receive(ChannelId::from_index(number)),
            14 => Operation::Start,
            15 => Operation::End,
            16 => Operation::Enter(MethodId::from_index(number)),
            17 => Operation::Exit(MethodId::from_index(number)),
            18 => Operation::TransactionBegin,
            _ => Operation::TransactionEnd,
        }
    })
}

/// The event as it was before it was written: the names that the reader saw have the old ids.
fn original(event: &Event, tables: &Tables) -> Event {
    let number = |name: NameId| tables.text(name)[1..].parse::<usize>().unwrap();
    let lock = |lock| LockId::from_index(number(lock_name(lock, tables).unwrap()));
    let variable = |v| VariableId::from_index(number(variable_name(v, tables).unwrap()));
    let thread = |thread| ThreadId::from_index(number(tables.threads[thread].name));
    let method = |method| MethodId::from_index(number(tables.methods[method].name));
    let channel = |channel| match tables.channels[channel] {
        Channel::Named(name) => ChannelId::from_index(number(name)),
        other => panic!("{other:?} in STD"),
    };
    let operation = match event.operation {
        Operation::Read(v) => Operation::Read(variable(v)),
        Operation::Write(v) => Operation::Write(variable(v)),
        Operation::Acquire(l) => Operation::Acquire(lock(l)),
        Operation::Release(l) => Operation::Release(lock(l)),
        Operation::AcquireShared(l) => Operation::AcquireShared(lock(l)),
        Operation::ReleaseShared(l) => Operation::ReleaseShared(lock(l)),
        Operation::Request(l) => Operation::Request(lock(l)),
        Operation::Wait(l) => Operation::Wait(lock(l)),
        Operation::Wake(l) => Operation::Wake(lock(l)),
        Operation::Notify(l) => Operation::Notify(lock(l)),
        Operation::Fork(t) => Operation::Fork(thread(t)),
        Operation::Join(t) => Operation::Join(thread(t)),
        Operation::Send(c) => Operation::Send(channel(c)),
        Operation::Receive(c) => Operation::Receive(channel(c)),
        Operation::Enter(m) => Operation::Enter(method(m)),
        Operation::Exit(m) => Operation::Exit(method(m)),
        Operation::Forget(v) => Operation::Forget(v),
        same @ (Operation::Start
        | Operation::End
        | Operation::TransactionBegin
        | Operation::TransactionEnd
        | Operation::Allocate(_)
        | Operation::Store(_)
        | Operation::ReadElements(_)
        | Operation::WriteElements(_)
        | Operation::ForgetLock(_)
        | Operation::ForgetChannel(_)
        | Operation::Swept
        | Operation::ForgetElements(_)) => same,
    };
    Event { thread: thread(event.thread), site: event.site, operation }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        steps in prop::collection::vec((0..3_usize, operation(), 0..u32::MAX), 0..60),
        drip in 1..40_usize,
    ) {
        let events: Vec<Event> = steps
            .into_iter()
            .map(|(thread, operation, site)| Event {
                thread: ThreadId::from_index(thread),
                site: SiteId::from_index(site as usize),
                operation,
            })
            .collect();
        let mut writer = StdWriter::new(Vec::new());
        for event in &events {
            writer.write(event).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let mut reader = StdReader::new(Dripping(&bytes, drip), Path::new("a.std"));
        let (read, told) = all(&mut reader).unwrap();
        prop_assert!(told.is_empty(), "{:?}", told);
        let read: Vec<Event> = read.iter().map(|event| original(event, reader.tables())).collect();
        prop_assert_eq!(read, events);
    }

    /// Lines of the common shape take a way of their own, which a comment bars.
    #[test]
    fn both_ways_of_reading_a_line_agree(
        lines in prop::collection::vec(
            "T[0-9]{0,2}\\|(r|w|acq|rel|fork|join|x)\\([VLT]?[0-9]{0,11}\\)\\|[0-9]{0,11}", 0..20),
    ) {
        let read = |ending: &str| {
            let text: String = lines.iter().map(|line| format!("{line}{ending}\n")).collect();
            let mut reader = StdReader::new(text.as_bytes(), Path::new("a.std"));
            let events = all(&mut reader).ok().map(|(events, _)| -> Vec<String> {
                events.iter().map(|event| shown(event, reader.tables())).collect()
            });
            (events, reader.problems().count())
        };
        prop_assert_eq!(read(""), read(" //"));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = all(&mut StdReader::new(&bytes[..], Path::new("a")));
        let _ = all(&mut RapidBinReader::new(&bytes[..], Path::new("a")));
    }
}
