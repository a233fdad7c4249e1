//! The page for the browser: its bytes, and what it does in a real one.
//!
//! The tests in a browser run when a Chromium is installed, and say so when they are skipped. They add a script to the
//! page that does what a person would do, and read what became of the page.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use unsnarl_findings::Report;
use unsnarl_report::html;
use unsnarl_report::source::Sources;

use crate::sample;

fn written(report: &Report, sources: &Sources) -> String {
    let mut bytes = Vec::new();
    html::write(report, sources, &mut bytes).expect("a vector takes every write");
    String::from_utf8(bytes).expect("a page is UTF-8")
}

/// The data in the page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    serde_json::from_str(data).expect("the data is JSON")
}

#[test]
fn the_page_has_the_report_and_the_lines_around_its_accesses() {
    let data = data(&written(&sample::full(), &sample::sources()));
    assert_eq!(data["report"]["findings"].as_array().map(Vec::len), Some(4));
    assert_eq!(data["classes"][0], "bank.Account");
    let file = &data["sources"]["bank/Account.java"];
    assert_eq!(file["path"], "src/main/java/bank/Account.java");
    assert_eq!(file["lines"]["8"], "    balance += amount;");
    insta::assert_snapshot!(serde_json::to_string_pretty(&file["lines"]).expect("it is JSON"));
}

#[test]
fn the_page_loads_nothing_and_text_stays_text() {
    let page = written(&sample::hostile(), Sources::NONE);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("content=\"default-src 'none'; "));
    for loading in ["<link", "<img", "<iframe", "@import", "url(", "fetch(", "innerHTML"] {
        assert!(!page.contains(loading), "{loading}");
    }
    assert_eq!(data(&page)["report"]["notes"][0], sample::hostile().notes[0]);
}

/// What a script finds out in the page, which it puts into `outcome`.
fn in_browser(page: &str, script: &str) -> Option<Value> {
    let Some(browser) = browser() else {
        // Not captured, as what `println` writes would be.
        let _ = writeln!(std::io::stderr(), "skipped: no chromium to look at the page with");
        return None;
    };
    let script = format!(
        "<script>window.failures = [];
        window.fail = (what) => failures.push(String(what));
        addEventListener('error', (event) => fail(event.message));
        addEventListener('securitypolicyviolation', (event) => fail(event.violatedDirective));
        const press = (key) => (document.activeElement || document.body).dispatchEvent(
            new KeyboardEvent('keydown', {{ key, bubbles: true, cancelable: true }}));
        const type = (id, value) => {{
            find(id).value = value;
            find(id).dispatchEvent(new Event('input', {{ bubbles: true }}));
        }};
        const shown = () => rows.filter((it) => !it.element.hidden).length;
        let outcome = {{}};
        try {{ {script} }} catch (error) {{ fail(error); }}
        outcome.failures = failures;
        document.body.append(make('pre', {{ id: 'outcome' }}, btoa(encodeURIComponent(JSON.stringify(outcome)))));
        </script></body>"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, page.replace("</body>", &script)).expect("the page can be written");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser can be started");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(!messages.contains("CONSOLE"), "{messages}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = dom.split_once("<pre id=\"outcome\">").unwrap_or_else(|| panic!("{messages}"));
    let encoded = rest.split_once('<').expect("the element ends").0;
    Some(decoded(encoded))
}

/// The value of `btoa(encodeURIComponent(JSON))`.
fn decoded(encoded: &str) -> Value {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut text, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in encoded.trim_end_matches('=').bytes() {
        bits = bits << 6 | u32::from(digit(byte));
        count += 6;
        if count >= 8 {
            count -= 8;
            text.push((bits >> count) as u8);
        }
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_slice();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%');
        match hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    serde_json::from_slice(&bytes).expect("the outcome is JSON")
}

fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut files =
        std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    files.find(|file| file.is_file())
}

#[test]
fn a_person_can_filter_move_and_unfold() {
    let page = written(&sample::full(), &sample::sources());
    let script = "
        outcome.summary = find('summary').textContent;
        outcome.all = shown();
        type('text', 'BALANCE account.java');
        outcome.byText = shown();
        type('text', '');
        for (const [id, value] of [['rule', 'lock-order-cycle'], ['class', 'bank.Account'], ['thread', 'T2'],
                ['evidence', 'predicted'], ['severity', 'note']]) {
            type(id, '=' + value);
            outcome[id] = shown();
            type(id, '');
        }
        press('/');
        outcome.focus = document.activeElement.id;
        press('Escape'); press('k'); press('j');
        outcome.selected = selected.finding.rule;
        for (const it of rows) toggle(it);
        outcome.accesses = document.querySelectorAll('.access').length;
        outcome.here = [...document.querySelectorAll('.here')].map((line) => line.textContent);
        outcome.pictures = [...document.querySelectorAll('svg')].map((svg) => svg.getAttribute('aria-label'));
        toggle(rows[0]);
        outcome.folded = rows[0].body.hidden;
        location.hash = rows[2].finding.fingerprint;";
    let Some(outcome) = in_browser(&page, script) else { return };
    let expected = serde_json::json!({
        "summary": "4 findings in 12 classes, 1 of them suppressed",
        "all": 4, "byText": 1, "rule": 1, "class": 2, "thread": 2, "evidence": 2, "severity": 1,
        "focus": "text", "selected": "lock-order-cycle", "accesses": 8, "folded": true,
        "here": ["8    balance += amount;", "8    balance += amount;",
            "14        System.out.println(\"the balance, which has a long name here to make the line longer, \
             is \" + this.balance);"],
        "pictures": ["The threads in time", "The life of the object", "The cycle of locks", "The threads in time"],
        "failures": [],
    });
    assert_eq!(outcome, expected);
}

/// The words are what a screen reader says; the shapes are what people see.
#[test]
fn time_lines_and_lives_of_objects_are_drawn() {
    let page = written(&sample::full(), Sources::NONE);
    let script = "
        toggle(rows.find((it) => it.finding.uses));
        for (const svg of document.querySelectorAll('svg')) {
            const count = (selector) => svg.querySelectorAll(selector).length;
            const box = svg.getBBox();
            const view = svg.viewBox.baseVal;
            outcome[svg.getAttribute('aria-label')] = {
                words: svg.querySelector('desc').textContent.split('; '),
                steps: count('circle.step'), accesses: count('circle.read, circle.write'),
                orders: count('path.sync.tip'), flows: count('path.flow.tip'), loops: count('path.dotted.tip'),
                held: count('rect.held'), boxes: count('rect.node'), defects: count('rect.defect'),
                danger: count('.danger'), titles: count('title'),
                fits: box.x >= 0 && box.y >= 0 && box.x + box.width <= view.width && box.y + box.height <= view.height,
            };
        }";
    let Some(outcome) = in_browser(&page, script) else { return };
    insta::assert_snapshot!(serde_json::to_string_pretty(&outcome).expect("it is JSON"));
}

#[test]
fn hostile_names_do_nothing_and_long_cycles_are_drawn() {
    for report in [sample::hostile(), sample::cycle(1000), sample::empty()] {
        let page = written(&report, Sources::NONE);
        let script = "for (const it of rows) toggle(it);
            outcome.foreign = document.querySelectorAll('img, li script, a[onclick]').length;
            outcome.boxes = document.querySelectorAll('svg rect').length;
            outcome.nothing = find('nothing').hidden;";
        let Some(outcome) = in_browser(&page, script) else { return };
        assert_eq!(outcome["failures"], serde_json::json!([]));
        assert_eq!(outcome["foreign"], 0);
        assert!(outcome["boxes"].as_u64().is_some_and(|boxes| boxes < 20), "{outcome}");
        assert_eq!(outcome["nothing"], !report.findings().is_empty());
    }
}

/// How fast it is depends on the machine; that it works at all is what can be asserted.
#[test]
fn thousands_of_findings_can_be_filtered_and_gone_through() {
    let page = written(&sample::many(5000), Sources::NONE);
    let script = "
        type('text', 'field4999');
        outcome.shown = shown();
        type('text', '');
        type('class', '=com.example.Class42');
        outcome.ofClass = shown();
        for (let i = 0; i < 20; i++) press('j');
        toggle(selected);
        toggle(rows.find((it) => it.finding.evidence[0] === 'suspected'));
        outcome.unfolded = document.querySelectorAll('.access').length;
        outcome.picture = document.querySelector('svg[aria-label=\"Who uses it\"] text').textContent
            .startsWith('1 write Class.java:');";
    let Some(outcome) = in_browser(&page, script) else { return };
    let expected = serde_json::json!({ "shown": 1, "ofClass": 52, "unfolded": 4, "picture": true, "failures": [] });
    assert_eq!(outcome, expected);
}
