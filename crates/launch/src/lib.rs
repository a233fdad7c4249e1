//! How a JVM is started, and where an agent goes in that.
//!
//! `unsnarl run` starts JVMs, and so do the programs that it watches: both put the same options in the same
//! places. A command whose program is called `java` gets them among its arguments, and they change nothing
//! else: the agent comes first, and after the user's own options comes what takes back those that would keep
//! the JVM from starting. Every other command gets them through `JAVA_TOOL_OPTIONS`, which a JVM
//! announces with a line on its standard error.
//!
//! What it does not see: a main class or `-Xshare:on` inside an argument file (`@file`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The variable from which every JVM takes options.
pub const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Options of `java` whose value is the next argument.
const WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--enable-native-access",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--limit-modules",
    "--patch-module",
    "--source",
];

/// Those of them that name the class path.
const CLASS_PATH: [&str; 3] = ["-cp", "-classpath", "--class-path"];

/// Options after which what is run is named, and after which all arguments are the program's.
const BEFORE_PROGRAM: [&str; 3] = ["-jar", "-m", "--module"];

/// An agent library with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The library.
    pub library: PathBuf,
    /// What stands after the `=`.
    pub options: OsString,
}

/// Whether a command starts a JVM itself.
#[must_use]
pub fn is_java(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("java"))
}

impl Agent {
    /// The option of the JVM that loads it.
    #[must_use]
    pub fn option(&self) -> OsString {
        let mut option = OsString::from("-agentpath:");
        option.push(&self.library);
        option.push("=");
        option.push(&self.options);
        option
    }

    /// The arguments of `java` with the agent.
    #[must_use]
    pub fn arguments(&self, arguments: &[OsString]) -> Vec<OsString> {
        let (options, program) = arguments.split_at(options(arguments));
        let mut result = vec![self.option()];
        result.extend_from_slice(options);
        // The agent needs to see the first classes, which archives would hide. This takes back what insists
        // on an archive; without that it changes nothing. A JVM refuses the two together.
        let has_aot = options.iter().any(|option| option.as_bytes().starts_with(b"-XX:AOT"));
        result.push(if has_aot { "-XX:AOTMode=off" } else { "-Xshare:auto" }.into());
        result.extend_from_slice(program);
        result
    }

    /// The value of [`TOOL_OPTIONS`], after the one that it has.
    #[must_use]
    pub fn tool_options(&self, existing: Option<&OsStr>) -> OsString {
        let mut value = existing.map(OsStr::to_owned).unwrap_or_default();
        if !value.is_empty() {
            value.push(" ");
        }
        let option = self.option();
        let has_space = option.as_bytes().iter().any(u8::is_ascii_whitespace);
        if has_space {
            value.push("\"");
        }
        value.push(&option);
        if has_space {
            value.push("\"");
        }
        value
    }
}

/// What a `java` runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// The class path, or the jar of `-jar`; empty if the arguments name none.
    pub class_path: Vec<PathBuf>,
    /// The class whose `main` is called, with dots, if the arguments name it.
    pub main_class: Option<String>,
}

impl Launched {
    /// What `java` runs with these arguments.
    #[must_use]
    pub fn by(arguments: &[OsString]) -> Self {
        let (options, program) = arguments.split_at(options(arguments));
        match program {
            [option, jar, ..] if option == "-jar" => {
                Self { class_path: vec![jar.into()], main_class: None }
            }
            [option, ..] if option == "-m" || option == "--module" => Self::default(),
            [class, ..] => Self {
                class_path: class_path(options),
                main_class: Some(class.to_string_lossy().replace('/', ".")),
            },
            [] => Self { class_path: class_path(options), main_class: None },
        }
    }
}

/// The last class path among options. A part that is empty is the current folder.
fn class_path(options: &[OsString]) -> Vec<PathBuf> {
    let is_option = |option: &OsString| CLASS_PATH.iter().any(|name| option == name);
    let behind = options.windows(2).rev().find(|pair| is_option(&pair[0])).map(|pair| &*pair[1]);
    let inside = || {
        let mut values =
            options.iter().rev().filter_map(|it| it.to_str()?.strip_prefix("--class-path="));
        values.next().map(OsStr::new)
    };
    let part = |path: PathBuf| if path.as_os_str().is_empty() { ".".into() } else { path };
    let parts = |value| std::env::split_paths(value).map(part).collect();
    behind.or_else(inside).map(parts).unwrap_or_default()
}

/// How many arguments are options of the JVM.
fn options(arguments: &[OsString]) -> usize {
    let mut index = 0;
    while let Some(argument) = arguments.get(index) {
        let is = |names: &[&str]| names.iter().any(|name| argument == name);
        if is(&BEFORE_PROGRAM) || !matches!(argument.as_bytes().first(), Some(b'-' | b'@')) {
            return index;
        }
        index += if is(&WITH_VALUE) { 2 } else { 1 };
    }
    arguments.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> Agent {
        Agent { library: "/lib/agent.so".into(), options: "run=/r".into() }
    }

    fn with_agent(line: &str) -> String {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let result = agent().arguments(&arguments);
        result.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn options_stand_around_those_of_the_user() {
        const AGENT: &str = "-agentpath:/lib/agent.so=run=/r";
        for (line, before, after) in [
            ("Main -Xshare:on", "", "Main -Xshare:on"),
            ("-Xshare:on -cp a:b Main x", "-Xshare:on -cp a:b", "Main x"),
            ("-ea -jar app.jar -cp x", "-ea", "-jar app.jar -cp x"),
            ("--add-opens a/b=c -m mod/Main", "--add-opens a/b=c", "-m mod/Main"),
            ("--add-opens=a/b=c @file Main", "--add-opens=a/b=c @file", "Main"),
            ("-version", "-version", ""),
            ("-cp", "-cp", ""),
        ] {
            let expected: Vec<&str> = [AGENT, before, "-Xshare:auto", after]
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect();
            assert_eq!(with_agent(line), expected.join(" "), "{line}");
        }
        let line = "-XX:AOTCache=x -XX:AOTMode=on Main";
        let expected = format!("{AGENT} -XX:AOTCache=x -XX:AOTMode=on -XX:AOTMode=off Main");
        assert_eq!(with_agent(line), expected);
    }

    #[test]
    fn what_the_environment_has_is_kept() {
        let agent = agent();
        assert_eq!(agent.tool_options(None), "-agentpath:/lib/agent.so=run=/r");
        let existing = Some(OsStr::new("-Da=b"));
        assert_eq!(agent.tool_options(existing), "-Da=b -agentpath:/lib/agent.so=run=/r");
        let spaced = Agent { library: "/a b.so".into(), ..agent };
        assert_eq!(spaced.tool_options(None), "\"-agentpath:/a b.so=run=/r\"");
    }

    #[test]
    fn what_is_run_is_known() {
        for (line, class_path, main) in [
            ("-cp a:b.jar -ea app.Main -cp x", "a:b.jar", Some("app.Main")),
            ("-classpath a --class-path b app/Main", "b", Some("app.Main")),
            ("--class-path=a Main", "a", Some("Main")),
            ("-cp a::b.jar: Main", "a:.:b.jar:.", Some("Main")),
            ("-cp x -jar app.jar", "app.jar", None),
            ("-m mod/Main", "", None),
            ("Main", "", Some("Main")),
            ("-version", "", None),
        ] {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let launched = Launched::by(&arguments);
            let expected: Vec<PathBuf> =
                class_path.split(':').filter(|it| !it.is_empty()).map(PathBuf::from).collect();
            assert_eq!(launched.class_path, expected, "{line}");
            assert_eq!(launched.main_class.as_deref(), main, "{line}");
        }
    }

    #[test]
    fn a_java_is_known_by_its_name() {
        for (program, expected) in
            [("java", true), ("/opt/jdk/bin/java", true), ("javac", false), ("./run.sh", false)]
        {
            assert_eq!(is_java(OsStr::new(program)), expected, "{program}");
        }
    }
}
