//! The grammar: what is read, what is refused where, and that every effect survives being written.

use proptest::prelude::*;
use unsnarl_models::{
    Blocking, Call, Effect, LockMode, MemberKind, ModelPlace, Outcome, Range, RangeEnd, Reflect,
    StartKind, parse,
};

/// Canonical sentences: they are written back as they are.
const CANONICAL: &[&str] = &[
    "acquire this",
    "acquire this.owner shared",
    "acquire this try when true",
    "acquire this shared timed when nonzero",
    "acquire this optimistic try when nonzero",
    "release this shared when true",
    "wait this",
    "wait this holding this.lock timed",
    "notify this all",
    "send arg0 in this when true",
    "send thread.permit",
    "receive result in this timed when nonnull",
    "receive this blocking",
    "start arg0.call() -> result.value as pool-task in this, result",
    "start this.run() as thread in this",
    "start arg0.accept(this.value, _) as async-stage in result, arg1 after this, arg0",
    "join this",
    "join this try when true",
    "join this timed when throws java.util.concurrent.ExecutionException",
    "serial result",
    "call arg1.apply(arg0, this.value) -> this.value",
    "later arg0.run()",
    "flow arg0 -> this.element",
    "flow arg0[] -> arg1[]",
    "flow last -> arg0[this]",
    "return new java.util.ArrayList",
    "return new java.lang.Object[]",
    "return new int[][]",
    "return static java.util.concurrent.ForkJoinPool::common",
    "copy this -> result",
    "read arg0[arg1] atomic",
    "read arg0[] all",
    "read arg0[] to arg1",
    "write arg0[] from arg1 to arg2",
    "write this.element",
    "write arg0[this] atomic when true",
    "reflect class arg0 -> result",
    "reflect field arg0 named arg1 -> result",
    "reflect method this -> result[]",
    "reflect new this with arg0 -> result",
    "reflect call this on arg0 with arg1 -> result",
    "reflect proxy arg1 with arg2 -> result",
];

#[test]
fn canonical_sentences_are_written_as_they_were_read() {
    for sentence in CANONICAL {
        match parse(sentence) {
            Ok(effect) => assert_eq!(effect.to_string(), *sentence),
            Err(error) => panic!("{sentence}: {error}"),
        }
    }
}

#[test]
fn spaces_and_usual_words_do_not_matter() {
    for (sentence, canonical) in [
        ("  acquire   this  blocking ", "acquire this"),
        ("receive this try", "receive this"),
        ("call arg0 . run ( )->result", "call arg0.run() -> result"),
    ] {
        let effect = parse(sentence).map(|effect| effect.to_string());
        assert_eq!(effect.as_deref(), Ok(canonical));
    }
}

#[test]
fn errors_say_where_and_what_was_expected() {
    for (sentence, column, part) in [
        ("", 1, "expected a verb"),
        ("lock this", 1, "expected a verb"),
        ("acquire", 8, "expected a place"),
        ("acquire arg", 9, "expected a place"),
        ("acquire arg256", 9, "expected a place"),
        ("acquire arg01", 9, "expected a place"),
        ("acquire this when maybe", 19, "expected an outcome"),
        ("acquire this now", 14, "expected the end of the sentence, found `now`"),
        ("acquire this when true shared", 24, "expected the end"),
        ("acquire é this", 9, "expected a place"),
        ("acquire ö; this", 10, "unexpected character `;`"),
        ("start arg0.run()", 17, "expected `as`"),
        ("start arg0.run() as tread", 21, "expected a kind of thread (thread,"),
        ("start arg0 as thread", 12, "expected `(`"),
        ("call arg0()", 6, "expected PLACE.method("),
        ("call arg0.run(arg1", 19, "expected `)`"),
        ("call arg0.run(arg1.get())", 23, "expected a place, not a call"),
        ("flow arg0 this", 11, "expected `->`"),
        ("flow arg0 -> new a.B", 14, "expected a place that exists already"),
        ("return new int", 12, "expected a class or an array"),
        ("return new a.B.", 16, "expected the rest of the name of a class"),
        ("return static a.B", 18, "expected `::`"),
        ("read this[", 11, "expected a place"),
        ("reflect proxy arg0 -> result", 20, "expected `with`"),
        ("reflect thing this", 9, "expected class, new, call, proxy"),
    ] {
        let error = parse(sentence).expect_err(sentence);
        assert_eq!(error.column, column, "{sentence}: {error}");
        assert!(error.message.contains(part), "{sentence}: {error}");
    }
}

fn name() -> impl Strategy<Value = Box<str>> {
    "[a-z][a-zA-Z0-9_]{0,6}(-[a-z]{1,3})?".prop_map(Into::into)
}

fn class() -> impl Strategy<Value = Box<str>> {
    "([a-z]{1,4}/){0,3}[A-Z][a-zA-Z0-9]{0,5}(\\$[A-Z][a-z]{0,3})?".prop_map(Into::into)
}

fn variable_place() -> impl Strategy<Value = ModelPlace> {
    let base = prop_oneof![
        Just(ModelPlace::This),
        any::<u8>().prop_map(ModelPlace::Argument),
        Just(ModelPlace::Last),
        Just(ModelPlace::Result),
        Just(ModelPlace::Thread),
        (class(), name()).prop_map(|(class, name)| ModelPlace::Static { class, name }),
    ];
    base.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), name())
                .prop_map(|(object, name)| ModelPlace::Slot(object.into(), name)),
            inner.clone().prop_map(|array| ModelPlace::Element(array.into())),
            (inner.clone(), inner).prop_map(|(object, selector)| ModelPlace::Variable {
                object: object.into(),
                selector: selector.into(),
            }),
        ]
    })
}

fn place() -> impl Strategy<Value = ModelPlace> {
    prop_oneof![
        6 => variable_place(),
        1 => Just(ModelPlace::Unknown),
        1 => class().prop_map(ModelPlace::New),
        1 => class().prop_map(|class| ModelPlace::New(format!("[[L{class};").into())),
        1 => "\\[{1,2}[ZBCSIJFD]".prop_map(|array| ModelPlace::New(array.into())),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let arguments = prop::collection::vec(place(), 0..3);
    let result = prop::option::of(variable_place());
    (variable_place(), name(), arguments, result).prop_map(
        |(receiver, method, arguments, result)| Call { receiver, method, arguments, result },
    )
}

fn mode() -> impl Strategy<Value = LockMode> {
    prop::sample::select(vec![LockMode::Exclusive, LockMode::Shared, LockMode::Optimistic])
}

fn blocking() -> impl Strategy<Value = Blocking> {
    prop::sample::select(vec![Blocking::Never, Blocking::Timed, Blocking::Forever])
}

fn when() -> impl Strategy<Value = Option<Outcome>> {
    prop::option::of(prop_oneof![
        11 => prop::sample::select(vec![
            Outcome::True,
            Outcome::False,
            Outcome::Null,
            Outcome::NonNull,
            Outcome::Zero,
            Outcome::NonZero,
            Outcome::Positive,
            Outcome::Negative,
            Outcome::Normal,
            Outcome::Exception,
            Outcome::Finished,
        ]),
        1 => class().prop_map(Outcome::Throws),
    ])
}

fn reflect() -> impl Strategy<Value = Reflect> {
    let some_place = || prop::option::of(place());
    let member = prop::sample::select(MemberKind::ALL.map(|(kind, _)| kind).to_vec());
    prop_oneof![
        (place(), variable_place()).prop_map(|(name, to)| Reflect::Class { name, to }),
        (member, place(), some_place(), variable_place())
            .prop_map(|(kind, class, name, to)| Reflect::Member { kind, class, name, to }),
        (place(), some_place(), variable_place()).prop_map(|(what, arguments, to)| Reflect::New {
            what,
            arguments,
            to
        }),
        (place(), some_place(), some_place(), variable_place())
            .prop_map(|(what, on, arguments, to)| Reflect::Call { what, on, arguments, to }),
        (place(), place(), variable_place()).prop_map(|(interfaces, handler, to)| Reflect::Proxy {
            interfaces,
            handler,
            to
        }),
    ]
}

fn synchronization() -> impl Strategy<Value = Effect> {
    let some_place = || prop::option::of(place());
    let kind = prop::sample::select(StartKind::ALL.map(|(kind, _)| kind).to_vec());
    let groups = || prop::collection::vec(place(), 0..3);
    prop_oneof![
        (place(), mode(), blocking(), any::<bool>(), when()).prop_map(
            |(lock, mode, blocking, once, when)| {
                Effect::Acquire { lock, mode, blocking, once, when }
            }
        ),
        (place(), mode(), when()).prop_map(|(lock, mode, when)| Effect::Release {
            lock,
            mode,
            when
        }),
        (place(), some_place(), any::<bool>()).prop_map(|(on, lock, timed)| Effect::Wait {
            on,
            lock,
            timed
        }),
        (place(), any::<bool>()).prop_map(|(on, all)| Effect::Notify { on, all }),
        (place(), some_place(), blocking(), when()).prop_map(
            |(channel, within, blocking, when)| Effect::Send { channel, within, blocking, when }
        ),
        (place(), some_place(), blocking(), any::<bool>(), when()).prop_map(
            |(channel, within, blocking, once, when)| {
                Effect::Receive { channel, within, blocking, once, when }
            }
        ),
        (call(), kind, groups(), groups()).prop_map(|(call, kind, groups, after)| Effect::Start {
            call,
            kind,
            groups,
            after
        }),
        (place(), blocking(), when()).prop_map(|(group, blocking, when)| Effect::Join {
            group,
            blocking,
            when
        }),
        place().prop_map(Effect::Serial),
        place().prop_map(Effect::Limited),
    ]
}

fn range() -> impl Strategy<Value = Option<Range>> {
    let end = prop_oneof![place().prop_map(RangeEnd::Count), place().prop_map(RangeEnd::Before),];
    let some =
        (prop::option::of(place()), end).prop_map(|(from, end)| Range { from, end: Some(end) });
    prop::option::of(prop_oneof![Just(Range::ALL), some])
}

fn effect() -> impl Strategy<Value = Effect> {
    prop_oneof![
        4 => synchronization(),
        1 => call().prop_map(Effect::Call),
        1 => call().prop_map(Effect::Later),
        1 => (place(), variable_place()).prop_map(|(from, to)| Effect::Flow { from, to }),
        1 => place().prop_map(Effect::Return),
        1 => (place(), variable_place()).prop_map(|(from, to)| Effect::Copy { from, to }),
        1 => (place(), range(), any::<bool>())
            .prop_map(|(place, range, atomic)| Effect::Read { place, range, atomic }),
        1 => (place(), range(), any::<bool>(), when())
            .prop_map(|(place, range, atomic, when)| Effect::Write { place, range, atomic, when }),
        2 => reflect().prop_map(Effect::Reflect),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_effect_survives_being_written_and_read(effect in effect()) {
        let sentence = effect.to_string();
        prop_assert_eq!(parse(&sentence), Ok(effect), "{}", sentence);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z0-9 .,()\\[\\]:>é<-]{0,40}") {
        let _ = parse(&text);
    }
}
