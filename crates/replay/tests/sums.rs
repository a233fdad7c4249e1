//! Checksums of a recording: what is not as it was recorded is noticed.

use std::fs::{self, File};
use std::path::Path;

use unsnarl_recording::chunks::{RawEvent, write};
use unsnarl_recording::format::{
    CHUNKS_FILE, Kind, MARK, MARK_FILE, NAMES_FILE, SUMS_FILE, arena_file,
};
use unsnarl_recording::seal;
use unsnarl_replay::open;

/// Threads of which each enters two monitors, in a chunk of its own.
fn recording(threads: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let entered = |number| RawEvent { kind: Kind::MonitorEnter, site: 1, words: [number, 1 << 20] };
    let chunks: Vec<_> = (0..threads)
        .map(|thread| (thread + 1, 0, vec![entered(2 * thread + 1), entered(2 * thread + 2)]))
        .collect();
    let (arena, table) = write::arena(&chunks, 1);
    let files = [
        (MARK_FILE, MARK.as_bytes()),
        (&*arena_file(0), &arena),
        (CHUNKS_FILE, &table),
        (NAMES_FILE, b"thread\t1\tmain\n"),
    ];
    for (file, bytes) in files {
        fs::write(folder.path().join(file), bytes).expect("a writable folder");
    }
    folder
}

/// How many events are read, and where something is wrong.
fn outcome(folder: &Path) -> (usize, Vec<String>) {
    let mut session = open(folder).expect("a session");
    let (mut batch, mut events) = (Vec::new(), 0);
    loop {
        session.next_batch(&mut batch).expect("a batch");
        if batch.is_empty() {
            break;
        }
        events += batch.len();
    }
    let problems = session.problems().first().iter();
    (events, problems.map(|problem| problem.place.clone()).collect())
}

fn flip(file: &Path, byte: usize) {
    let mut bytes = fs::read(file).expect("a file");
    bytes[byte] ^= 1;
    fs::write(file, bytes).expect("a writable folder");
}

#[test]
fn a_chunk_that_is_not_as_it_was_recorded_is_reported_and_left_out() {
    let folder = recording(3);
    seal(folder.path()).expect("checksums");
    let (whole, problems) = outcome(folder.path());
    assert_eq!(problems, Vec::<String>::new());
    // The object of the second event in the second chunk: another one would do as well.
    let chunk = 24 + 2 * 24 + 8;
    flip(&folder.path().join(arena_file(0)), 8 + chunk + 24 + 24 + 16);
    let (rest, problems) = outcome(folder.path());
    assert_eq!(problems, [format!("{}, byte {}", arena_file(0), 8 + chunk)]);
    assert_eq!(3 * rest, 2 * whole);
    fs::remove_file(folder.path().join(SUMS_FILE)).expect("checksums");
    assert_eq!(outcome(folder.path()), (whole, Vec::new()), "nobody sees it without");
}

#[test]
fn a_table_that_is_not_as_it_was_recorded_is_reported() {
    let folder = recording(1);
    seal(folder.path()).expect("checksums");
    flip(&folder.path().join(NAMES_FILE), 10);
    assert_eq!(outcome(folder.path()).1, [NAMES_FILE]);
}

#[test]
fn damage_of_the_checksums_themselves_is_reported() {
    let folder = recording(1);
    fs::write(folder.path().join(SUMS_FILE), "arena-0000\t8\t1\n").expect("a writable folder");
    assert_eq!(outcome(folder.path()).1, [format!("{SUMS_FILE}, line 1")]);
}

#[test]
fn a_program_that_runs_gets_none() {
    let folder = recording(1);
    let mark = File::open(folder.path().join(MARK_FILE)).expect("a mark");
    mark.lock().expect("a lock");
    seal(folder.path()).expect("no checksums");
    assert!(!folder.path().join(SUMS_FILE).exists());
}

#[test]
fn a_folder_without_a_mark_is_no_trace() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = open(folder.path()).err().expect("no trace").to_string();
    assert!(error.ends_with("is no trace: the folder has no file `session`"), "{error}");
}
