//! The numbers that the agent, the runtime in the JVM and the reader have to agree on. All are little
//! endian.

/// The file that says that a folder is a session, and of which version.
pub const MARK_FILE: &str = "session";
/// What is in it.
pub const MARK: &str = "unsnarl session 1\n";
/// In the folder of a run, which has a folder for each JVM: locked as long as somebody watches.
pub const RUN_FILE: &str = "run";
/// The table of places in the code.
pub const SITES_FILE: &str = "sites";
/// The table of classes with their fields.
pub const CLASSES_FILE: &str = "classes";
/// The table of names that only the running program knows.
pub const NAMES_FILE: &str = "names";
/// The table of the ways on which threads came to places for the first time.
pub const STACKS_FILE: &str = "stacks";
/// The file that says that accesses stand where they happened, in the order of all numbers.
pub const EXACT_FILE: &str = "exact";
/// The names of the [filters](unsnarl_events::Filter) that have left accesses out, a line each.
pub const FILTERS_FILE: &str = "filters";
/// What the agent did, and what it could not do.
pub const LOG_FILE: &str = "agent.log";
/// What the log says when the program has ended by itself.
pub const ENDED_IN_LOG: &str = "the program has ended";
/// What the log says when the first class of the program is loaded, after those of the JVM itself.
pub const STARTED_IN_LOG: &str = "the program has started";
/// How the line of the log begins that says why the agent records nothing.
pub const NOTHING_RECORDED_IN_LOG: &str = "nothing is recorded";
/// The lines of the log that report no loss: the agent is loaded, the runtime is there, the program has started, the
/// program has ended by itself.
pub const USUAL_IN_LOG: [&str; 4] = ["loaded", "recording", STARTED_IN_LOG, ENDED_IN_LOG];
/// The beginning of the names of arena files; a number follows.
pub const ARENA_PREFIX: &str = "arena-";
/// The table of chunks: where they lie and whose they are.
pub const CHUNKS_FILE: &str = "chunks";
/// Checksums of a recording whose program has ended.
pub const SUMS_FILE: &str = "sums";
/// Where a reader that follows gives chunks back.
pub const RETURNED_FILE: &str = "returned";

/// The name of a file with models that were given besides those that are built in.
#[must_use]
pub fn models_file(number: usize) -> String {
    format!("models-{number}.toml")
}

/// The name of a list of the objects that live.
#[must_use]
pub fn living_file(number: u64) -> String {
    format!("living-{number:04}")
}

/// The name of an arena.
#[must_use]
pub fn arena_file(arena: u32) -> String {
    format!("{ARENA_PREFIX}{arena:04}")
}

/// The first eight bytes of an arena; chunks follow.
pub const ARENA_MARK: &[u8; 8] = b"UNSNARL\x01";
/// The first four bytes of a chunk, after which four bytes give its size with the header.
pub const CHUNK_MARK: u32 = 0x4B4E_4843;
/// The size of a chunk's header: mark and size, the number of its thread, its place in the thread's
/// sequence of chunks.
pub const CHUNK_HEADER: usize = 24;

/// After the last event of a chunk that its thread has left, if there is room.
pub const END_OF_CHUNK: u64 = 255;

/// The kind of an event: the lowest eight bits of its first word. The site is in the 32 bits above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the hooks")]
#[repr(u8)]
pub enum Kind {
    FieldRead = 1,
    FieldWrite,
    StaticRead,
    StaticWrite,
    ArrayRead,
    ArrayWrite,
    NumberedRead,
    NumberedWrite,
    NumberedStaticRead,
    NumberedStaticWrite,
    MonitorEnter,
    MonitorExit,
    Wait,
    Wake,
    ThreadStart,
    ThreadBegin,
    ThreadEnd,
    ThreadJoin,
    ClassInitialized,
    Object,
    GoesOn,
    SweepBegins,
    SweepEnds,
    Contended,
    CallOperand = 30,
    CallBegins,
    CallEnds,
    TaskBegins,
    TaskEnds,
    ThreadObject,
    CallFails,
    CallLooks,
    MethodEnters = 60,
    MethodExits,
    Allocated,
    Stored,
    Owned,
}

/// Where an operand of a call stands, besides the arguments, which have their places: an element of an
/// argument, the calling thread, what a task returns, or the length of an argument.
pub const OPERAND_ELEMENT: u64 = 0x100;
/// See [`OPERAND_ELEMENT`].
pub const OPERAND_THREAD: u64 = 0x200;
/// See [`OPERAND_ELEMENT`].
pub const OPERAND_RETURNED: u64 = 0x400;
/// See [`OPERAND_ELEMENT`].
pub const OPERAND_LENGTH: u64 = 0x800;

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 37] = [
        Self::FieldRead,
        Self::FieldWrite,
        Self::StaticRead,
        Self::StaticWrite,
        Self::ArrayRead,
        Self::ArrayWrite,
        Self::NumberedRead,
        Self::NumberedWrite,
        Self::NumberedStaticRead,
        Self::NumberedStaticWrite,
        Self::MonitorEnter,
        Self::MonitorExit,
        Self::Wait,
        Self::Wake,
        Self::ThreadStart,
        Self::ThreadBegin,
        Self::ThreadEnd,
        Self::ThreadJoin,
        Self::ClassInitialized,
        Self::Object,
        Self::GoesOn,
        Self::SweepBegins,
        Self::SweepEnds,
        Self::Contended,
        Self::CallOperand,
        Self::CallBegins,
        Self::CallEnds,
        Self::TaskBegins,
        Self::TaskEnds,
        Self::ThreadObject,
        Self::CallFails,
        Self::CallLooks,
        Self::MethodEnters,
        Self::MethodExits,
        Self::Allocated,
        Self::Stored,
        Self::Owned,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        const BY_NUMBER: [Option<Kind>; 256] = {
            let mut kinds = [None; 256];
            let mut index = 0;
            while index < Kind::ALL.len() {
                kinds[Kind::ALL[index] as usize] = Some(Kind::ALL[index]);
                index += 1;
            }
            kinds
        };
        BY_NUMBER[usize::from(number)]
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// How many words an event of the kind with this number has; 0 if there is no such kind.
    #[inline]
    pub fn words_of(number: u8) -> usize {
        usize::from(LENGTHS[usize::from(number)])
    }

    /// Whether the kind with this number is numbered.
    #[inline]
    pub fn number_is_numbered(number: u8) -> bool {
        NUMBERED[usize::from(number)]
    }

    /// How many words follow the first one.
    #[must_use]
    #[inline]
    pub fn words(self) -> usize {
        Self::words_of(self as u8) - 1
    }

    /// Whether the word after the first is the place in the order of all synchronization.
    #[must_use]
    #[inline]
    pub fn is_numbered(self) -> bool {
        NUMBERED[self as usize]
    }

    const fn word_count(self) -> u8 {
        match self {
            Self::StaticRead | Self::StaticWrite | Self::MethodExits => 0,
            Self::FieldRead
            | Self::FieldWrite
            | Self::NumberedStaticRead
            | Self::NumberedStaticWrite
            | Self::ThreadBegin
            | Self::ThreadEnd
            | Self::ClassInitialized
            | Self::GoesOn
            | Self::CallLooks
            | Self::MethodEnters => 1,
            Self::ArrayRead
            | Self::ArrayWrite
            | Self::NumberedRead
            | Self::NumberedWrite
            | Self::MonitorEnter
            | Self::MonitorExit
            | Self::Wait
            | Self::Wake
            | Self::ThreadStart
            | Self::ThreadJoin
            | Self::Object
            | Self::CallOperand
            | Self::CallBegins
            | Self::CallEnds
            | Self::TaskBegins
            | Self::TaskEnds
            | Self::ThreadObject
            | Self::CallFails
            | Self::SweepBegins
            | Self::SweepEnds
            | Self::Contended
            | Self::Allocated
            | Self::Stored
            | Self::Owned => 2,
        }
    }

    const fn has_number(self) -> bool {
        !matches!(
            self,
            Self::FieldRead
                | Self::FieldWrite
                | Self::StaticRead
                | Self::StaticWrite
                | Self::ArrayRead
                | Self::ArrayWrite
                | Self::Object
                | Self::CallOperand
                | Self::ThreadObject
                | Self::CallLooks
                | Self::MethodEnters
                | Self::MethodExits
                | Self::Allocated
                | Self::Stored
                | Self::Owned
        )
    }
}

// Asked for every event: a look into a table cannot be mispredicted as a jump can.
static LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut index = 0;
    while index < Kind::ALL.len() {
        lengths[Kind::ALL[index] as usize] = 1 + Kind::ALL[index].word_count();
        index += 1;
    }
    lengths
};
static NUMBERED: [bool; 256] = {
    let mut numbered = [false; 256];
    let mut index = 0;
    while index < Kind::ALL.len() {
        numbered[Kind::ALL[index] as usize] = Kind::ALL[index].has_number();
        index += 1;
    }
    numbered
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_numbers_belong_together() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_number(kind.number()), Some(kind));
            assert!(!kind.is_numbered() || kind.words() >= 1);
        }
        assert_eq!(Kind::from_number(0), None);
        assert_eq!(Kind::from_number(29), None);
    }

    /// The runtime has the same numbers in Java.
    #[test]
    fn the_runtime_agrees() {
        let source = include_str!("../../../runtime/java/lang/UnsnarlHooks.java");
        for kind in Kind::ALL {
            let mut name = String::new();
            for letter in format!("{kind:?}").chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.push(letter.to_ascii_uppercase());
            }
            let line = format!("static final int {name} = {};", kind.number());
            assert!(source.contains(&line), "{line}");
        }
    }
}
