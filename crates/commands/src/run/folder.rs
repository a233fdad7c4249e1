//! The folder of a run: where the agents of its JVMs put their sessions.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use unsnarl_recording::format::RUN_FILE;
use unsnarl_recording::{is_locked, sessions_of};

use crate::error::{CommandError, Context};

/// The file system in shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder that agents write to while this value lives.
pub(super) struct RunFolder {
    path: PathBuf,
    /// Locked, so that agents see that the run is being watched.
    _mark: File,
    is_kept: bool,
}

impl RunFolder {
    /// A folder that is kept when the run is over.
    pub(super) fn recorded(path: &Path) -> Result<Self, CommandError> {
        let is_empty = fs::read_dir(path).map(|mut entries| entries.next().is_none());
        if path.exists() && !is_empty.unwrap_or(false) {
            return Err(CommandError::failed(format!("{} is there already", path.display())));
        }
        Self::create(path.to_owned(), true)
    }

    /// A folder that is deleted when the run is over: in `parent`, or where there is most likely to be room.
    pub(super) fn temporary(parent: Option<&Path>, room: u64) -> Result<Self, CommandError> {
        let parent = match parent {
            Some(parent) => parent.to_owned(),
            None if has_room(Path::new(SHARED_MEMORY), room) => SHARED_MEMORY.into(),
            None => std::env::temp_dir(),
        };
        let (user, process) = (rustix::process::geteuid().as_raw(), std::process::id());
        let prefix = format!("unsnarl-run-{user}-");
        remove_abandoned(&parent, &prefix);
        // It gets its final name once it is locked: before, another run would take it for abandoned.
        let mut folder = Self::create(parent.join(format!("unsnarl-new-{user}-{process}")), false)?;
        let path = folder.path.with_file_name(format!("{prefix}{process}"));
        fs::rename(&folder.path, &path).context(|| format!("cannot make {}", path.display()))?;
        folder.path = path;
        Ok(folder)
    }

    fn create(path: PathBuf, is_kept: bool) -> Result<Self, CommandError> {
        let shown = path.display();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .context(|| format!("cannot make {shown}"))?;
        let path = path.canonicalize().context(|| format!("cannot find {shown}"))?;
        let mark = File::create_new(path.join(RUN_FILE))
            .context(|| format!("cannot write to {}", path.display()))?;
        mark.lock().context(|| format!("cannot lock {}", path.join(RUN_FILE).display()))?;
        Ok(Self { path, _mark: mark, is_kept })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The sessions that are there now. A folder that was deleted has none.
    pub(super) fn sessions(&self) -> Vec<PathBuf> {
        sessions_of(&self.path).unwrap_or_default()
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left is removed by the next run.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes the folders of runs that were killed.
fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let is_abandoned =
            File::open(entry.path().join(RUN_FILE)).is_ok_and(|mark| !is_locked(&mark));
        if is_abandoned {
            // This run can do without.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a file system has twice this many bytes free.
fn has_room(folder: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(folder)
        .is_ok_and(|status| status.f_bavail.saturating_mul(status.f_frsize) / 2 >= bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_another_run_leaves_is_removed_and_what_it_begins_is_not() {
        let place = tempfile::tempdir().unwrap();
        let prefix = format!("unsnarl-run-{}-", rustix::process::geteuid().as_raw());
        let abandoned = place.path().join(format!("{prefix}0"));
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join(RUN_FILE), "").unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    remove_abandoned(place.path(), &prefix);
                }
            });
            for _ in 0..500 {
                let folder = RunFolder::temporary(Some(place.path()), 0);
                let is_there = folder.as_ref().is_ok_and(|it| it.path().join(RUN_FILE).is_file());
                done.store(!is_there, Ordering::Relaxed);
                assert!(is_there);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(!abandoned.exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
