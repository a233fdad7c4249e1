//! The translator: from the events of a recording to those of the event model.
//!
//! | part | what it knows |
//! |---|---|
//! | [`descriptions`] | the input: what the tables of a session say |
//! | [`resolver`], [`ids`] | which ids things have; fills the [`Tables`], one half of the output |
//! | [`emitter`] | appends events, the other half |
//! | [`initializers`] | which class initializers have ended, and which threads know it |
//! | [`library`] | calls of library methods, and what models say that they do |
//! | [`stacks`] | which methods threads are in |
//! | [`lifetimes`] | what is forgotten when objects have died |
//! | [`plain`] | the fast path for most accesses and monitors |

mod descriptions;
mod emitter;
mod ids;
mod initializers;
mod library;
mod lifetimes;
mod plain;
mod resolver;
mod stacks;

use std::sync::Arc;

use unsnarl_events::{Event, Operation, Problems, Store, Tables, ThreadId, Variable};
use unsnarl_models::Models;
use unsnarl_recording::chunks::{RawEvent, RawEvents};
use unsnarl_recording::format::Kind;
use unsnarl_recording::records::StackRecord;

pub(super) use self::descriptions::Descriptions;
use self::descriptions::binary_name;
use self::emitter::{Emitter, Strided};
use self::ids::missing_site;
use self::initializers::Initializers;
use self::library::LibraryCalls;
use self::plain::{PlainEvent, PlainSites};
use self::resolver::{Requested, Resolver};
use self::stacks::Stacks;

/// Turns events into those of the model and fills its tables.
#[derive(Debug)]
pub(super) struct Translator {
    resolver: Resolver,
    initializers: Initializers,
    library: LibraryCalls,
    stacks: Stacks,
    plain: PlainSites,
}

impl Translator {
    pub(super) fn new(descriptions: Descriptions, models: Arc<Models>, is_exact: bool) -> Self {
        let requested = Requested { is_exact, ..Requested::default() };
        Self {
            resolver: Resolver::new(descriptions, requested),
            initializers: Initializers::default(),
            library: LibraryCalls::new(models),
            stacks: Stacks::default(),
            plain: PlainSites::default(),
        }
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.resolver.tables
    }

    pub(super) fn keep_elements(&mut self) {
        self.resolver.requested.keeps_elements = true;
    }

    pub(super) fn report_retired(&mut self) {
        self.resolver.requested.reports_retired = true;
    }

    /// What the tables of the session say, to be added to.
    pub(super) fn descriptions(&mut self) -> &mut Descriptions {
        &mut self.resolver.descriptions
    }

    /// How a thread came to a site.
    pub(super) fn add_stack(&mut self, stack: &StackRecord) {
        self.resolver.add_stack(stack);
    }

    /// Whether a call at a site may release or send something only if it succeeds, whatever it is called on.
    pub(super) fn depends_on_outcome(&mut self, site: u32) -> bool {
        self.library.depends_on_outcome(site, &self.resolver.descriptions)
    }

    /// Whether it is known how the next call of a thread ends, from what follows its beginning.
    pub(super) fn is_decided(&self, thread: u64, following: RawEvents<'_>) -> bool {
        self.library.is_decided(self.resolver.threads.get(thread), following)
    }

    /// Appends what events of the thread with this number are in the model. `later` are the thread's later events, as far
    /// as they are in memory. Returns the last event, unless it was translated on the fast path.
    pub(super) fn translate_all(
        &mut self,
        number: u64,
        events: RawEvents<'_>,
        later: RawEvents<'_>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) -> Option<RawEvent> {
        let mut rest = events;
        loop {
            rest = self.translate_plain(number, rest, later, out, problems);
            let event = rest.next()?;
            if event.kind == Kind::CallLooks
                && let Some(after) = self.translate_whole_call(number, &event, rest, out, problems)
            {
                rest = after;
                continue;
            }
            let is_last = rest.is_empty();
            let following = if is_last { later } else { RawEvents(&[]) };
            self.translate(number, &event, following, out, problems);
            if is_last {
                return Some(event);
            }
        }
    }

    /// Appends what an event is in the model: nothing, one event or several.
    fn translate(
        &mut self,
        number: u64,
        event: &RawEvent,
        following: RawEvents<'_>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) {
        let Self { resolver, initializers, library, stacks, plain } = self;
        match event.kind {
            Kind::Object => return resolver.describe(event.words),
            Kind::GoesOn => return,
            Kind::Owned => return allocated_by(event.words, resolver, out),
            Kind::ThreadBegin => resolver.rename_thread(number),
            _ => {}
        }
        let thread = resolver.thread(number);
        // The end of a call has its number instead of a site.
        let is_end = matches!(event.kind, Kind::CallEnds | Kind::CallFails);
        let site = resolver.site(if is_end { 0 } else { event.site });
        let mut emit = Emitter { resolver, thread, site, out, problems };
        initializers.receive_needed(&mut emit);
        let [first, second] = event.words;
        if event.kind != Kind::MethodEnters {
            stacks.leave_what_was_left(number, site, &mut emit);
        }
        let Emitter { resolver, problems, .. } = &mut emit;
        let operation = match event.kind {
            Kind::MethodEnters => return stacks.enter(number, first, &mut emit),
            Kind::MethodExits => return stacks.exit(number, &mut emit),
            Kind::Allocated => {
                let object = resolver.object(first);
                if second != 0 {
                    resolver.tables.makers[object] = Some(resolver.object(second));
                }
                Operation::Allocate(object)
            }
            Kind::Stored => {
                let Some(into) = resolver.container(event.site, first, problems) else { return };
                let value = resolver.object(second);
                Operation::Store(resolver.tables.stores.intern(Store { into, value }))
            }
            Kind::FieldRead | Kind::FieldWrite | Kind::NumberedRead | Kind::NumberedWrite => {
                let object = if event.kind.is_numbered() { second } else { first };
                let Some((field, volatile)) = resolver.field(event.site, problems) else { return };
                let object = resolver.accessed(object);
                let variable = resolver.field_variable(object, field);
                let write = matches!(event.kind, Kind::FieldWrite | Kind::NumberedWrite);
                if !volatile {
                    plain.learn(event.site, site, PlainEvent::Field(field), resolver);
                }
                resolver.access(variable, write, volatile)
            }
            Kind::StaticRead
            | Kind::StaticWrite
            | Kind::NumberedStaticRead
            | Kind::NumberedStaticWrite => {
                let Some((field, volatile)) = resolver.field(event.site, problems) else { return };
                initializers.receive(resolver.tables.fields[field].class, &mut emit);
                let variable = emit.resolver.variable(Variable::Static(field));
                let write = matches!(event.kind, Kind::StaticWrite | Kind::NumberedStaticWrite);
                emit.resolver.access(variable, write, volatile)
            }
            Kind::ArrayRead | Kind::ArrayWrite => {
                let array = resolver.accessed(first);
                let elements = Strided::from_word(second);
                plain.learn(event.site, site, PlainEvent::Elements, resolver);
                return emit.elements(array, elements, event.kind == Kind::ArrayWrite);
            }
            Kind::MonitorEnter | Kind::MonitorExit => {
                plain.learn(event.site, site, PlainEvent::Monitor, resolver);
                let lock = resolver.lock(second);
                let enters = event.kind == Kind::MonitorEnter;
                if enters { Operation::Acquire(lock) } else { Operation::Release(lock) }
            }
            Kind::Contended => Operation::Request(resolver.lock(second)),
            Kind::Wait => Operation::Wait(resolver.lock(second)),
            Kind::Wake => Operation::Wake(resolver.lock(second)),
            Kind::ThreadStart => Operation::Fork(resolver.thread(second)),
            Kind::ThreadJoin => Operation::Join(resolver.thread(second)),
            Kind::ThreadBegin => Operation::Start,
            Kind::ThreadEnd => {
                self.forget_thread(number, thread);
                out.push(Event { thread, site, operation: Operation::End });
                return;
            }
            Kind::ClassInitialized => {
                let Some(record) = resolver.descriptions.sites.get(&event.site) else {
                    return missing_site(event.site, problems);
                };
                let class = resolver.tables.names.intern(&binary_name(&record.class));
                return initializers.end(class, &mut emit);
            }
            Kind::CallOperand
            | Kind::CallBegins
            | Kind::CallLooks
            | Kind::CallEnds
            | Kind::TaskBegins
            | Kind::TaskEnds
            | Kind::ThreadObject
            | Kind::CallFails => return library.event(event, following, &mut emit),
            Kind::Object | Kind::GoesOn | Kind::Owned | Kind::SweepBegins | Kind::SweepEnds => {
                return;
            }
        };
        emit.push(operation);
    }

    /// Translates a call that only looks and ends with the next event, as most do, as a whole: nothing needs to be kept of
    /// it. Returns the events after it; none if it is not such a call.
    fn translate_whole_call<'w>(
        &mut self,
        number: u64,
        event: &RawEvent,
        after: RawEvents<'w>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) -> Option<RawEvents<'w>> {
        let Self { resolver, initializers, library, stacks, .. } = self;
        let mut rest = after;
        let end = rest.next().filter(|end| end.kind == Kind::CallEnds)?;
        if !stacks.are_empty() {
            return None;
        }
        let (thread, site) = (resolver.thread(number), resolver.site(event.site));
        let known = library.known_whole_call(thread, event, &end, &resolver.descriptions)?;
        let mut emit = Emitter { resolver, thread, site, out, problems };
        initializers.receive_needed(&mut emit);
        // The end of a call has its number instead of a site.
        emit.resolver.site(0);
        library.whole_call(known, event, &end, &mut emit);
        Some(rest)
    }

    /// A thread has ended.
    fn forget_thread(&mut self, number: u64, thread: ThreadId) {
        self.library.thread_ended(thread);
        self.stacks.forget_thread(number);
        self.initializers.forget_thread(thread);
    }
}

/// Another thread than the one that made an object reports who made it.
fn allocated_by([object, maker]: [u64; 2], resolver: &mut Resolver, out: &mut Vec<Event>) {
    let (thread, site) = (resolver.thread(maker), resolver.site(0));
    let operation = Operation::Allocate(resolver.object(object));
    out.push(Event { thread, site, operation });
}
