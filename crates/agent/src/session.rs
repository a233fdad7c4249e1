//! The folder of a session: log, tables and arenas.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use unsnarl_trace::session::format::{
    CLASSES_FILE, LOG_FILE, MARK, MARK_FILE, NAMES_FILE, SITES_FILE,
};
use unsnarl_trace::session::{ClassRecord, NameRecord, SiteRecord};

use crate::arena::Arenas;

/// A session that is being written.
#[derive(Debug)]
pub(crate) struct Session {
    log: Mutex<File>,
    sites: Mutex<File>,
    classes: Mutex<File>,
    names: Mutex<File>,
    arenas: Mutex<Arenas>,
}

impl Session {
    /// Makes the folder, if it is not there, and the files in it. A folder that has a session already is
    /// an error.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let file = |name: &str| {
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600).open(folder.join(name))
        };
        let session = Self {
            log: Mutex::new(file(LOG_FILE)?),
            sites: Mutex::new(file(SITES_FILE)?),
            classes: Mutex::new(file(CLASSES_FILE)?),
            names: Mutex::new(file(NAMES_FILE)?),
            arenas: Mutex::new(Arenas::new(folder)),
        };
        file(MARK_FILE)?.write_all(MARK.as_bytes())?;
        Ok(session)
    }

    /// Writes a line to the log. That it cannot be written can be told nowhere.
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

    /// The address of a new chunk; 0 if there is no room, which the log tells.
    pub(crate) fn chunk(&self, thread: u64, sequence: u64, size: usize) -> u64 {
        let chunk = lock(&self.arenas).chunk(thread, sequence, size);
        chunk.unwrap_or_else(|error| {
            self.log(&format!("thread {thread} is not recorded any further: {error}"));
            0
        })
    }

    fn append(&self, file: &Mutex<File>, name: &str, lines: &[u8]) {
        if let Err(error) = lock(file).write_all(lines) {
            self.log(&format!("cannot write to {name}: {error}"));
        }
    }
}

/// A panic elsewhere leaves files, arenas and lists as they are: usable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
