//! What a library method does, as far as threads, locks, callbacks and references are concerned.
//!
//! An [`Effect`] is one sentence of the grammar in `docs/models.md`; `Display` writes the sentence
//! back, in canonical form, so that parsing it again gives the same value. Class names are kept in
//! their internal form (`java/util/ArrayList`) and shown in the form of the source language.

use std::fmt;

/// Something a model can talk about: an object, a part of its contents, or a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModelPlace {
    /// The receiver.
    This,
    /// A parameter, counted from 0 without the receiver; a `long` counts as one.
    Argument(u8),
    /// The last argument of a call with a varying number of them (`VarHandle.set`).
    Last,
    /// What the method returns; for a constructor, write `this`.
    Result,
    /// The `Thread` object of the calling thread.
    Thread,
    /// A value of no interest, such as a number handed to a callback.
    Unknown,
    /// A fresh object of this class (internal name; arrays as descriptors, `[Ljava/lang/Object;`).
    New(Box<str>),
    /// A place that exists once per program.
    Static {
        /// Internal name of the class it belongs to.
        class: Box<str>,
        /// Name of the slot; need not be a field.
        name: Box<str>,
    },
    /// Named contents of an object: `this.element`. Names are shared by convention per library.
    Slot(Box<ModelPlace>, Box<str>),
    /// Any element of an array: `arg0[]`.
    Element(Box<ModelPlace>),
    /// The variable of `object` that `selector` stands for: an index, an offset, a `Field`, a
    /// `VarHandle`, a field updater: `arg0[this]`.
    Variable {
        /// The object that holds the variable.
        object: Box<ModelPlace>,
        /// The value that shows which one.
        selector: Box<ModelPlace>,
    },
}

/// A call that the library makes: `arg1.apply(arg0) -> this.value`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// The object called.
    pub receiver: ModelPlace,
    /// The simple name; together with the number of arguments it selects the method.
    pub method: Box<str>,
    /// Where the arguments come from.
    pub arguments: Vec<ModelPlace>,
    /// Where the returned value goes.
    pub result: Option<ModelPlace>,
}

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// By one thread.
    Exclusive,
    /// By several readers.
    Shared,
    /// Not held at all, but validated afterwards (`StampedLock.tryOptimisticRead`).
    Optimistic,
}

/// Whether the calling thread can be stopped until another thread acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// Returns at once.
    Never,
    /// Gives up after a while.
    Timed,
    /// Waits forever.
    Forever,
}

/// How the method must end for an effect to hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Returns `true`.
    True,
    /// Returns `false`.
    False,
    /// Returns `null`.
    Null,
    /// Returns a reference.
    NonNull,
    /// Returns 0.
    Zero,
    /// Returns a number other than 0.
    NonZero,
    /// Returns a number greater than 0.
    Positive,
    /// Returns a number less than 0.
    Negative,
    /// Returns without an exception.
    Normal,
    /// Throws.
    Exception,
    /// Throws this class or a subclass (internal name).
    Throws(Box<str>),
    /// What was waited for has ended, which the result does not show (`Thread.join(long)`).
    Finished,
}

/// What kind of thread runs a started call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StartKind {
    /// A platform thread of its own.
    Thread,
    /// A virtual thread of its own.
    VirtualThread,
    /// A thread of a pool.
    PoolTask,
    /// A thread of a pool, after a delay.
    ScheduledTask,
    /// A thread of a pool, again and again; one run ends before the next begins.
    PeriodicTask,
    /// The thread of a `Timer`.
    TimerTask,
    /// A stage of a `CompletableFuture`.
    AsyncStage,
    /// A worker of a `ForkJoinPool`.
    ForkJoinTask,
    /// A worker of a parallel stream, and the calling thread too.
    ParallelStream,
    /// The thread of a `Cleaner`.
    Cleaner,
    /// A thread that runs when the JVM ends.
    ShutdownHook,
    /// The one event thread of a user interface.
    EventTask,
}

impl StartKind {
    /// Every kind with its word in a sentence.
    pub const ALL: [(StartKind, &'static str); 12] = [
        (StartKind::Thread, "thread"),
        (StartKind::VirtualThread, "virtual-thread"),
        (StartKind::PoolTask, "pool-task"),
        (StartKind::ScheduledTask, "scheduled-task"),
        (StartKind::PeriodicTask, "periodic-task"),
        (StartKind::TimerTask, "timer-task"),
        (StartKind::AsyncStage, "async-stage"),
        (StartKind::ForkJoinTask, "fork-join-task"),
        (StartKind::ParallelStream, "parallel-stream"),
        (StartKind::Cleaner, "cleaner"),
        (StartKind::ShutdownHook, "shutdown-hook"),
        (StartKind::EventTask, "event-task"),
    ];

    /// The word in a sentence.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

/// One thing that a method does. The effects of a method happen in the order in which they are
/// written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Takes a lock.
    Acquire {
        /// The object whose lock it is.
        lock: ModelPlace,
        /// How it is held.
        mode: LockMode,
        /// `Forever` unless said otherwise.
        blocking: Blocking,
        /// A thread that holds it is not let in a second time.
        once: bool,
        /// Only with this outcome.
        when: Option<Outcome>,
    },
    /// Gives a lock back. Releasing what is not held does nothing.
    Release {
        /// The object whose lock it is.
        lock: ModelPlace,
        /// How it was held.
        mode: LockMode,
        /// Only with this outcome.
        when: Option<Outcome>,
    },
    /// Waits for a notification; the lock is released meanwhile and held again afterwards, whatever
    /// the outcome.
    Wait {
        /// The monitor or condition.
        on: ModelPlace,
        /// The lock, when it is not `on` itself.
        lock: Option<ModelPlace>,
        /// Gives up after a while.
        timed: bool,
    },
    /// Wakes threads that wait.
    Notify {
        /// The monitor or condition.
        on: ModelPlace,
        /// All of them.
        all: bool,
    },
    /// What was done before happens before what follows a later matching `Receive`.
    Send {
        /// The object (or slot, or variable) that carries the order.
        channel: ModelPlace,
        /// Only receivers from this container match.
        within: Option<ModelPlace>,
        /// Waits until there is room, if it is limited. `Never` unless said otherwise.
        blocking: Blocking,
        /// Only with this outcome.
        when: Option<Outcome>,
    },
    /// The other end of `Send`.
    Receive {
        /// The object (or slot, or variable) that carries the order.
        channel: ModelPlace,
        /// Only senders into this container match.
        within: Option<ModelPlace>,
        /// `Never` unless said otherwise.
        blocking: Blocking,
        /// What is received is used up: nobody receives it again.
        once: bool,
        /// Only with this outcome.
        when: Option<Outcome>,
    },
    /// Runs a call in another thread.
    Start {
        /// What runs there.
        call: Call,
        /// What kind of thread it is.
        kind: StartKind,
        /// The objects whose `Join` waits for it.
        groups: Vec<ModelPlace>,
        /// It begins only after a `Join` and a `Receive` of each of these.
        after: Vec<ModelPlace>,
    },
    /// Waits for all that was started in a group.
    Join {
        /// A thread, future, executor or other group named by a `Start`.
        group: ModelPlace,
        /// `Forever` unless said otherwise.
        blocking: Blocking,
        /// Only with this outcome.
        when: Option<Outcome>,
    },
    /// What is started in this group runs one after another, in the order of the starts.
    Serial(ModelPlace),
    /// The place has room, or threads, for a limited number.
    Limited(ModelPlace),
    /// Calls back at once, in the calling thread, zero or more times.
    Call(Call),
    /// Calls back later, in a thread that is not known.
    Later(Call),
    /// A reference moves. Says nothing about an access.
    Flow {
        /// From here.
        from: ModelPlace,
        /// To here.
        to: ModelPlace,
    },
    /// The method returns this.
    Return(ModelPlace),
    /// A fresh object of the same class with the same contents.
    Copy {
        /// The original.
        from: ModelPlace,
        /// Where the copy goes.
        to: ModelPlace,
    },
    /// Reads a variable or contents.
    Read {
        /// What is read.
        place: ModelPlace,
        /// Which elements, if the place is any element of an array: these and no others. Some of them without it.
        range: Option<Range>,
        /// Cannot race with another atomic access.
        atomic: bool,
    },
    /// Writes a variable or contents.
    Write {
        /// What is written.
        place: ModelPlace,
        /// Which elements, if the place is any element of an array: these and no others. Some of them without it.
        range: Option<Range>,
        /// Cannot race with another atomic access.
        atomic: bool,
        /// Only with this outcome.
        when: Option<Outcome>,
    },
    /// Acts on classes and members that are known at run time only.
    Reflect(Reflect),
}

/// Elements of an array, one after another, or the fields of an object if it has no ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Range {
    /// The index of the first; 0 without it.
    pub from: Option<ModelPlace>,
    /// Where they end; without it, where the array does.
    pub end: Option<RangeEnd>,
}

/// Where a range of elements ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RangeEnd {
    /// They are so many.
    Count(ModelPlace),
    /// In front of this index, or where the array ends if that comes first.
    Before(ModelPlace),
}

impl Range {
    /// All of them.
    pub const ALL: Self = Self { from: None, end: None };

    /// Whether one has to know how long the array is.
    #[must_use]
    pub fn depends_on_length(&self) -> bool {
        !matches!(self.end, Some(RangeEnd::Count(_)))
    }

    /// What its ends are.
    pub fn places(&self) -> impl Iterator<Item = &ModelPlace> {
        let end = self.end.as_ref().map(|end| match end {
            RangeEnd::Count(place) | RangeEnd::Before(place) => place,
        });
        self.from.iter().chain(end)
    }
}

/// Acts on classes and members that are known at run time only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reflect {
    /// The class that a string names.
    Class {
        /// The string.
        name: ModelPlace,
        /// Where the class object goes.
        to: ModelPlace,
    },
    /// A member of a class.
    Member {
        /// Which sort.
        kind: MemberKind,
        /// The class object.
        class: ModelPlace,
        /// The string that names it; any member without it.
        name: Option<ModelPlace>,
        /// Where the member, handle, updater or offset goes.
        to: ModelPlace,
    },
    /// A fresh instance of a class object or by a constructor.
    New {
        /// The class object or constructor.
        what: ModelPlace,
        /// The array of arguments, if a constructor with arguments is called.
        arguments: Option<ModelPlace>,
        /// Where the object goes.
        to: ModelPlace,
    },
    /// A call of a method object or handle.
    Call {
        /// The method or handle.
        what: ModelPlace,
        /// The receiver, when it is not among the arguments.
        on: Option<ModelPlace>,
        /// The array of arguments; without it, the arguments of the call itself.
        arguments: Option<ModelPlace>,
        /// Where the result goes.
        to: ModelPlace,
    },
    /// An object of given interfaces whose calls go to an `InvocationHandler`.
    Proxy {
        /// The array of interfaces.
        interfaces: ModelPlace,
        /// The handler.
        handler: ModelPlace,
        /// Where the object goes.
        to: ModelPlace,
    },
}

/// The sorts of members that reflection finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberKind {
    /// A field.
    Field,
    /// A method.
    Method,
    /// A constructor.
    Constructor,
}

impl MemberKind {
    /// Every kind with its word in a sentence.
    pub const ALL: [(MemberKind, &'static str); 3] = [
        (MemberKind::Field, "field"),
        (MemberKind::Method, "method"),
        (MemberKind::Constructor, "constructor"),
    ];
}

impl fmt::Display for ModelPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelPlace::This => f.write_str("this"),
            ModelPlace::Argument(index) => write!(f, "arg{index}"),
            ModelPlace::Last => f.write_str("last"),
            ModelPlace::Result => f.write_str("result"),
            ModelPlace::Thread => f.write_str("thread"),
            ModelPlace::Unknown => f.write_str("_"),
            ModelPlace::New(class) => write!(f, "new {}", source_name(class)),
            ModelPlace::Static { class, name } => {
                write!(f, "static {}::{name}", source_name(class))
            }
            ModelPlace::Slot(object, name) => write!(f, "{object}.{name}"),
            ModelPlace::Element(array) => write!(f, "{array}[]"),
            ModelPlace::Variable { object, selector } => write!(f, "{object}[{selector}]"),
        }
    }
}

/// `[Ljava/util/Map$Entry;` as `java.util.Map$Entry[]`; an array of primitives as `int[]`.
fn source_name(internal: &str) -> String {
    let element = internal.trim_start_matches('[');
    let dimensions = internal.len() - element.len();
    let name = if dimensions == 0 {
        element.replace('/', ".")
    } else {
        match crate::key::primitive_of_descriptor(element) {
            Some(primitive) => primitive.to_owned(),
            None => element
                .strip_prefix('L')
                .and_then(|class| class.strip_suffix(';'))
                .unwrap_or(element)
                .replace('/', "."),
        }
    };
    name + &"[]".repeat(dimensions)
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}(", self.receiver, self.method)?;
        write_list(f, &self.arguments)?;
        f.write_str(")")?;
        match &self.result {
            Some(result) => write!(f, " -> {result}"),
            None => Ok(()),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, places: &[ModelPlace]) -> fmt::Result {
    for (position, place) in places.iter().enumerate() {
        let separator = if position == 0 { "" } else { ", " };
        write!(f, "{separator}{place}")?;
    }
    Ok(())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::True => "true",
            Outcome::False => "false",
            Outcome::Null => "null",
            Outcome::NonNull => "nonnull",
            Outcome::Zero => "zero",
            Outcome::NonZero => "nonzero",
            Outcome::Positive => "positive",
            Outcome::Negative => "negative",
            Outcome::Normal => "normal",
            Outcome::Exception => "exception",
            Outcome::Finished => "finished",
            Outcome::Throws(class) => return write!(f, "throws {}", source_name(class)),
        })
    }
}

impl fmt::Display for StartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for MemberKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(kind, _)| kind == self);
        f.write_str(word.map_or("", |(_, word)| word))
    }
}

fn mode_word(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Exclusive => "",
        LockMode::Shared => " shared",
        LockMode::Optimistic => " optimistic",
    }
}

fn blocking_word(blocking: Blocking, usual: Blocking) -> &'static str {
    match blocking {
        same if same == usual => "",
        Blocking::Never => " try",
        Blocking::Timed => " timed",
        Blocking::Forever => " blocking",
    }
}

fn once_word(once: bool) -> &'static str {
    if once { " once" } else { "" }
}

/// ` from P for Q`, ` from P to Q`, ` all`, or nothing.
struct Ranged<'a>(Option<&'a Range>);

impl fmt::Display for Ranged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(range) = self.0 else { return Ok(()) };
        if *range == Range::ALL {
            return f.write_str(" all");
        }
        write!(f, "{}", Phrase("from", range.from.as_ref()))?;
        match &range.end {
            Some(RangeEnd::Count(place)) => write!(f, " for {place}"),
            Some(RangeEnd::Before(place)) => write!(f, " to {place}"),
            None => Ok(()),
        }
    }
}

/// `" word value"`, or nothing.
struct Phrase<'a, T>(&'a str, Option<&'a T>);

impl<T: fmt::Display> fmt::Display for Phrase<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(value) => write!(f, " {} {value}", self.0),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Acquire { lock, mode, blocking, once, when } => {
                let (mode, blocking) =
                    (mode_word(*mode), blocking_word(*blocking, Blocking::Forever));
                let once = once_word(*once);
                write!(f, "acquire {lock}{mode}{blocking}{once}{}", Phrase("when", when.as_ref()))
            }
            Effect::Release { lock, mode, when } => {
                let mode = mode_word(*mode);
                write!(f, "release {lock}{mode}{}", Phrase("when", when.as_ref()))
            }
            Effect::Wait { on, lock, timed } => {
                let timed = if *timed { " timed" } else { "" };
                write!(f, "wait {on}{}{timed}", Phrase("holding", lock.as_ref()))
            }
            Effect::Notify { on, all } => {
                write!(f, "notify {on}{}", if *all { " all" } else { "" })
            }
            Effect::Send { channel, within, blocking, when } => write!(
                f,
                "send {channel}{}{}{}",
                Phrase("in", within.as_ref()),
                blocking_word(*blocking, Blocking::Never),
                Phrase("when", when.as_ref())
            ),
            Effect::Receive { channel, within, blocking, once, when } => write!(
                f,
                "receive {channel}{}{}{}{}",
                Phrase("in", within.as_ref()),
                blocking_word(*blocking, Blocking::Never),
                once_word(*once),
                Phrase("when", when.as_ref())
            ),
            Effect::Start { call, kind, groups, after } => {
                write!(f, "start {call} as {kind}")?;
                for (word, places) in [("in", groups), ("after", after)] {
                    if !places.is_empty() {
                        write!(f, " {word} ")?;
                        write_list(f, places)?;
                    }
                }
                Ok(())
            }
            Effect::Join { group, blocking, when } => {
                let blocking = blocking_word(*blocking, Blocking::Forever);
                write!(f, "join {group}{blocking}{}", Phrase("when", when.as_ref()))
            }
            Effect::Serial(group) => write!(f, "serial {group}"),
            Effect::Limited(place) => write!(f, "limited {place}"),
            Effect::Call(call) => write!(f, "call {call}"),
            Effect::Later(call) => write!(f, "later {call}"),
            Effect::Flow { from, to } => write!(f, "flow {from} -> {to}"),
            Effect::Return(place) => write!(f, "return {place}"),
            Effect::Copy { from, to } => write!(f, "copy {from} -> {to}"),
            Effect::Read { place, range, atomic } => {
                let atomic = if *atomic { " atomic" } else { "" };
                write!(f, "read {place}{}{atomic}", Ranged(range.as_ref()))
            }
            Effect::Write { place, range, atomic, when } => {
                let atomic = if *atomic { " atomic" } else { "" };
                let range = Ranged(range.as_ref());
                write!(f, "write {place}{range}{atomic}{}", Phrase("when", when.as_ref()))
            }
            Effect::Reflect(reflect) => write!(f, "reflect {reflect}"),
        }
    }
}

impl fmt::Display for Reflect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reflect::Class { name, to } => write!(f, "class {name} -> {to}"),
            Reflect::Member { kind, class, name, to } => {
                write!(f, "{kind} {class}{} -> {to}", Phrase("named", name.as_ref()))
            }
            Reflect::New { what, arguments, to } => {
                write!(f, "new {what}{} -> {to}", Phrase("with", arguments.as_ref()))
            }
            Reflect::Call { what, on, arguments, to } => write!(
                f,
                "call {what}{}{} -> {to}",
                Phrase("on", on.as_ref()),
                Phrase("with", arguments.as_ref())
            ),
            Reflect::Proxy { interfaces, handler, to } => {
                write!(f, "proxy {interfaces} with {handler} -> {to}")
            }
        }
    }
}
