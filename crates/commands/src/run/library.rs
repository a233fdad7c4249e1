//! The agent's library, which the binary carries and a JVM loads from a file.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{CommandError, Context};

const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.so"));

/// The library in a file that outlasts the run, since a program may start JVMs afterwards. The name contains a digest of
/// the content, so that versions do not get in each other's way.
pub(super) fn install() -> Result<PathBuf, CommandError> {
    let digest = Sha256::digest(AGENT);
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let mut reasons = Vec::new();
    for folder in folders() {
        let file = folder.join(format!("libunsnarl_agent-{digest}.so"));
        match install_in(&folder, &file) {
            Ok(()) => return Ok(file),
            Err(error) => reasons.push(error.chain()),
        }
    }
    let reasons = reasons.join("; ");
    Err(CommandError::failed(format!("the agent cannot be put anywhere: {reasons}")))
}

/// The user's cache, else a folder of the user's own among the temporary files.
fn folders() -> Vec<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let user = rustix::process::geteuid().as_raw();
    let temporary = std::env::temp_dir().join(format!("unsnarl-agent-{user}"));
    cache.map(|cache| cache.join("unsnarl")).into_iter().chain([temporary]).collect()
}

fn install_in(folder: &Path, file: &Path) -> Result<(), CommandError> {
    let shown = folder.display();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .context(|| format!("cannot make {shown}"))?;
    // Others must not be able to replace the library that our JVMs load.
    let metadata = fs::symlink_metadata(folder).context(|| format!("cannot look at {shown}"))?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !is_ours || metadata.mode() & 0o022 != 0 {
        return Err(CommandError::failed(format!("others can write to {shown}")));
    }
    if fs::read(file).is_ok_and(|content| content == AGENT) {
        return Ok(());
    }
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(AGENT)?;
    new.persist(file).context(|| format!("cannot write {}", file.display()))?;
    Ok(())
}
