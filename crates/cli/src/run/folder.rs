//! The folder of a run: where the agents of its JVMs put their sessions.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use unsnarl_recording::format::RUN_FILE;
use unsnarl_recording::{is_locked, sessions_of};

/// Where shared memory can be had as files.
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder that agents write to as long as this lives.
pub(super) struct RunFolder {
    path: PathBuf,
    /// Locked: so agents see that somebody watches.
    _mark: File,
    is_kept: bool,
}

impl RunFolder {
    /// A folder that stays when the run is over.
    pub(super) fn recorded(path: &Path) -> anyhow::Result<Self> {
        let is_empty = fs::read_dir(path).map(|mut entries| entries.next().is_none());
        if path.exists() && !is_empty.unwrap_or(false) {
            bail!("{} is there already", path.display());
        }
        Self::create(path.to_owned(), true)
    }

    /// A folder that goes when the run is over: in `place`, or where there is most likely to be room.
    pub(super) fn temporary(place: Option<&Path>, room: u64) -> anyhow::Result<Self> {
        let place = match place {
            Some(place) => place.to_owned(),
            None if has_room(Path::new(SHARED_MEMORY), room) => SHARED_MEMORY.into(),
            None => std::env::temp_dir(),
        };
        let (user, process) = (rustix::process::geteuid().as_raw(), std::process::id());
        let prefix = format!("unsnarl-run-{user}-");
        remove_abandoned(&place, &prefix);
        // It gets its name when it is locked: until then another run would take it for abandoned.
        let mut folder = Self::create(place.join(format!("unsnarl-new-{user}-{process}")), false)?;
        let path = folder.path.with_file_name(format!("{prefix}{process}"));
        fs::rename(&folder.path, &path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        folder.path = path;
        Ok(folder)
    }

    fn create(path: PathBuf, is_kept: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot make {shown}"))?;
        let path = path.canonicalize().with_context(|| format!("cannot find {shown}"))?;
        let mark = File::create_new(path.join(RUN_FILE))
            .with_context(|| format!("cannot write to {}", path.display()))?;
        mark.lock().with_context(|| format!("cannot lock {}", path.join(RUN_FILE).display()))?;
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

/// Removes what runs have left that were killed.
fn remove_abandoned(place: &Path, prefix: &str) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let is_abandoned =
            File::open(entry.path().join(RUN_FILE)).is_ok_and(|mark| !is_locked(&mark));
        if is_abandoned {
            // Whatever keeps it there does not matter to this run.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a file system has so many bytes free, twice.
fn has_room(place: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(place)
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
