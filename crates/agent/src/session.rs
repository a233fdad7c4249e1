//! The folder of a session: log, tables and arenas.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use unsnarl_models::Models;
use unsnarl_recording::format::{
    CLASSES_FILE, EXACT_FILE, FILTERS_FILE, LOG_FILE, MARK, MARK_FILE, NAMES_FILE, RUN_FILE,
    SITES_FILE, STACKS_FILE, living_file, models_file,
};
use unsnarl_recording::{
    AgentOptions, ClassRecord, Destination, NameRecord, SiteRecord, StackRecord, is_locked,
};

use crate::arena::{Arenas, Chunk};

/// How long a thread waits for a chunk to come back, at most. Then it gets one beyond the limit: it is slowed
/// and never stopped.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// A session that is being written.
#[derive(Debug)]
pub(crate) struct Session {
    folder: PathBuf,
    /// Locked as long as the JVM lives.
    _mark: File,
    /// Locked by whoever watches, if somebody does.
    watcher: Option<File>,
    /// Whether nothing is recorded any more.
    closed: AtomicBool,
    log: Mutex<File>,
    sites: Mutex<File>,
    classes: Mutex<File>,
    names: Mutex<File>,
    stacks: Mutex<File>,
    arenas: Mutex<Arenas>,
}

impl Session {
    /// Makes the folder, if it is not there, and the files in it. A folder that has a session already is
    /// an error, and so is a run that nobody watches any more. With a limit, chunks are used again. What
    /// is left out is written down in it.
    pub(crate) fn create(options: &AgentOptions) -> io::Result<Self> {
        let (folder, watcher) = match &options.destination {
            Destination::Folder(folder) => (folder.clone(), None),
            Destination::Run(run) => {
                let watcher = File::open(run.join(RUN_FILE))?;
                if !is_locked(&watcher) {
                    return Err(io::Error::other("nobody watches the run any more"));
                }
                (new_folder(run), Some(watcher))
            }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let file = |name: &str| {
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600).open(folder.join(name))
        };
        let [log, sites, classes, names, stacks] =
            [LOG_FILE, SITES_FILE, CLASSES_FILE, NAMES_FILE, STACKS_FILE]
                .map(|name| file(name).map(Mutex::new));
        let arenas = Mutex::new(Arenas::new(&folder, options.limit.map(|limit| limit as usize))?);
        if options.spec.events.exact {
            file(EXACT_FILE)?;
        }
        let mut filters = file(FILTERS_FILE)?;
        for filter in options.spec.filters.iter() {
            writeln!(filters, "{}", filter.name())?;
        }
        let mut mark = file(&format!("{MARK_FILE}.new"))?;
        mark.lock()?;
        mark.write_all(MARK.as_bytes())?;
        Ok(Self {
            folder,
            _mark: mark,
            watcher,
            closed: AtomicBool::new(false),
            log: log?,
            sites: sites?,
            classes: classes?,
            names: names?,
            stacks: stacks?,
            arenas,
        })
    }

    /// With the mark, which is there at once, the folder is a session, and whoever follows it reads the models that it has then.
    pub(crate) fn begin(&self) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{MARK_FILE}.new"));
        std::fs::rename(unfinished, self.folder.join(MARK_FILE))
    }

    /// The models that come with the agent and those of further files, which become part of the session: whoever
    /// reads it needs the same. A file that is not right is reported in the log.
    pub(crate) fn models(&self, files: &[PathBuf]) -> Models {
        let mut models = Models::builtin();
        let mut kept = 0;
        for file in files {
            let name = file.display().to_string();
            let added = std::fs::read_to_string(file)
                .map_err(|error| format!("{name}: {error}"))
                .and_then(|text| {
                    models.extend(&name, &text).map_err(|error| error.to_string())?;
                    std::fs::write(self.folder.join(models_file(kept)), text)
                        .map_err(|error| format!("{name}: {error}"))
                });
            match added {
                Ok(()) => kept += 1,
                Err(error) => self.log(&format!("models: {error}")),
            }
        }
        models
    }

    /// Writes a line to the log. That it cannot be written can be reported nowhere.
    pub(crate) fn log(&self, line: &str) {
        let _ = lock(&self.log).write_all(format!("{line}\n").as_bytes());
    }

    /// Writes sites to their table, with one call, so that a killed JVM leaves whole lines.
    pub(crate) fn add_sites(&self, sites: &[SiteRecord]) {
        let mut lines = Vec::new();
        sites.iter().for_each(|site| site.write(&mut lines));
        self.append(&self.sites, SITES_FILE, &lines);
    }

    /// Writes a class to its table.
    pub(crate) fn add_class(&self, class: &ClassRecord) {
        let mut line = Vec::new();
        class.write(&mut line);
        self.append(&self.classes, CLASSES_FILE, &line);
    }

    /// Writes a name to its table.
    pub(crate) fn add_name(&self, name: &NameRecord) {
        let mut line = Vec::new();
        name.write(&mut line);
        self.append(&self.names, NAMES_FILE, &line);
    }

    /// Writes how a thread came to a place.
    pub(crate) fn add_stack(&self, stack: &StackRecord) {
        let mut line = Vec::new();
        stack.write(&mut line);
        self.append(&self.stacks, STACKS_FILE, &line);
    }

    /// Writes the ids of the objects that live.
    pub(crate) fn write_living(&self, number: u64, ids: &[u64]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let path = self.folder.join(living_file(number));
        let file = options.write(true).create_new(true).mode(0o600).open(path)?;
        let mut writer = io::BufWriter::new(file);
        for id in ids {
            writer.write_all(&id.to_le_bytes())?;
        }
        writer.flush()
    }

    /// The address of a new chunk; 0 if there is no room, which the log tells, or if nobody watches any more.
    pub(crate) fn chunk(&self, thread: u64, sequence: u64, size: usize) -> u64 {
        if self.is_closed() {
            return 0;
        }
        let since = Instant::now();
        loop {
            let force = since.elapsed() >= LONGEST_WAIT;
            match lock(&self.arenas).chunk(thread, sequence, size, force) {
                Ok(Chunk::Given(address)) => return address,
                Ok(Chunk::NoneFree) => {}
                Err(error) => {
                    self.log(&format!("thread {thread} is not recorded any further: {error}"));
                    return 0;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_closed(&self) -> bool {
        let Some(watcher) = &self.watcher else { return false };
        if self.closed.load(Ordering::Relaxed) {
            return true;
        }
        let closed = !is_locked(watcher);
        self.closed.fetch_or(closed, Ordering::Relaxed);
        closed
    }

    fn append(&self, file: &Mutex<File>, name: &str, lines: &[u8]) {
        if let Err(error) = lock(file).write_all(lines) {
            self.log(&format!("cannot write to {name}: {error}"));
        }
    }
}

/// A folder for this JVM. Process numbers come again.
fn new_folder(run: &Path) -> PathBuf {
    let process = std::process::id();
    let names = std::iter::once(format!("jvm-{process}"))
        .chain((2_u32..).map(|count| format!("jvm-{process}-{count}")));
    names.map(|name| run.join(name)).find(|folder| !folder.exists()).unwrap_or_default()
}

/// A panic elsewhere leaves files, arenas and lists as they are: usable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
