//! The examples of `docs/models.md` are read, so that the page cannot drift from the parser.

use unsnarl_models::{Models, parse};

const PAGE: &str = include_str!("../../../docs/models.md");

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let starts = PAGE.split(fence.as_str()).skip(1);
    starts.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn files_on_the_page_are_accepted() {
    let files = blocks("toml");
    assert!(!files.is_empty());
    for text in files {
        let result = Models::builtin().extend("docs/models.md", text);
        assert!(result.is_ok(), "{result:?} in\n{text}");
    }
}

#[test]
fn sentences_on_the_page_are_canonical() {
    let sentences: Vec<_> = blocks("effect").into_iter().flat_map(str::lines).collect();
    assert!(sentences.len() > 30);
    for sentence in sentences {
        let written = parse(sentence).map(|effect| effect.to_string());
        assert_eq!(written.as_deref(), Ok(sentence));
    }
}

#[test]
fn every_kind_and_verb_of_the_models_is_in_the_grammar() {
    let grammar = blocks("").into_iter().find(|block| block.starts_with("effect   ="));
    let grammar = grammar.expect("the page has the grammar");
    let models = Models::builtin();
    for (_, class) in models.classes() {
        for (_, _, method) in class.methods() {
            for effect in &method.effects {
                let sentence = effect.to_string();
                let verb = sentence.split(' ').next().unwrap_or_default();
                assert!(grammar.contains(&format!("\"{verb}\"")), "{verb}");
            }
        }
    }
    for (_, word) in unsnarl_models::StartKind::ALL {
        assert!(grammar.contains(&format!("\"{word}\"")), "{word}");
    }
}
