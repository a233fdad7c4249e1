//! The two attributes of a jar's manifest that decide what is on the class path.

/// What the main section of `META-INF/MANIFEST.MF` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// `Multi-Release: true`.
    pub(super) multi_release: bool,
    /// The elements of `Class-Path`, as written: URLs, nearly always relative ones.
    pub(super) class_path: Vec<String>,
}

impl Manifest {
    /// Reads as much as makes sense; a manifest has no errors that would matter here.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut manifest = Self::default();
        for (name, value) in main_attributes(&String::from_utf8_lossy(bytes)) {
            if name.eq_ignore_ascii_case("Multi-Release") {
                manifest.multi_release = value.trim().eq_ignore_ascii_case("true");
            } else if name.eq_ignore_ascii_case("Class-Path") {
                manifest.class_path = value.split_ascii_whitespace().map(str::to_owned).collect();
            }
        }
        manifest
    }
}

/// The attributes up to the first empty line; a line that begins with a space continues the one
/// before it.
fn main_attributes(text: &str) -> Vec<(String, String)> {
    let mut attributes: Vec<(String, String)> = Vec::new();
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in unified.split('\n') {
        if line.is_empty() {
            break;
        }
        if let Some(continued) = line.strip_prefix(' ') {
            if let Some((_, value)) = attributes.last_mut() {
                value.push_str(continued);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            let value = value.strip_prefix(' ').unwrap_or(value);
            attributes.push((name.to_owned(), value.to_owned()));
        }
    }
    attributes
}
