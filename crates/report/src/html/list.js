// The list of findings: overview, filters and keys. All text goes in as text, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);

/** An element with a class, attributes and children, which are elements or text. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** As people see it: the method, the variable, the locks of a cycle. */
function subjectOf(finding) {
  const parts = [];
  if (finding.method) parts.push(`${finding.method.class}.${finding.method.method}`);
  if (finding.variable) {
    const { class: type, field } = finding.variable;
    parts.push(field === "[]" ? `elements of ${type}` : type === null ? field : `${type}.${field}`);
  }
  const locks = finding.locks || [];
  if (locks.length) {
    const shown = locks.slice(0, 4).join(" → ");
    parts.push(locks.length > 4 ? `${shown} → … ${locks.length - 4} more` : locks.length > 1 ? `${shown} → ${locks[0]}` : shown);
  }
  return parts.join(", ");
}

/** `bank.Account.update(Account.java:8)`. */
function frameText(frame) {
  if ("location" in frame) return `location ${frame.location}`;
  const place = frame.file === null ? "unknown source" : frame.line === null ? frame.file : `${frame.file}:${frame.line}`;
  return `${frame.class}.${frame.method}(${place})`;
}

/** `Account.java:8`, or what else is known. */
function shortPlace(access) {
  const frame = access.stack[0];
  if (!frame) return "somewhere";
  return frame.file && frame.line ? `${frame.file}:${frame.line}` : frameText(frame);
}

const rows = data.report.findings.map((finding, index) => {
  const threads = new Set(finding.accesses.map((access) => access.thread || "any thread"));
  const stacks = finding.accesses.slice(0, 20).flatMap((access) => access.stack.map(frameText));
  const subject = subjectOf(finding);
  const words = [finding.rule, subject, finding.message, finding.hint, finding.fingerprint, ...threads, ...stacks,
    ...finding.detectors, ...finding.reasons];
  return { finding, subject, threads, type: data.classes[index] || "no class", words: words.join("\n").toLowerCase() };
});

function row(it) {
  const { finding } = it;
  const suppressed = finding.suppression ? " suppressed" : "";
  it.head = make("button", { class: "head", "aria-expanded": "false", onclick: () => { select(it); toggle(it); } },
    make("span", { class: "rule" }, finding.rule),
    make("span", { class: "subject mono" }, it.subject),
    make("span", { class: "sure" }, `${finding.evidence.join(", ")} ${finding.confidence.toFixed(2)}`),
    make("span", { class: "message" }, finding.message));
  it.element = make("li", { class: `finding ${finding.severity}${suppressed}`, id: finding.fingerprint }, it.head);
  return it.element;
}

function toggle(it) {
  if (!it.body) {
    it.body = details(it);
    it.element.append(it.body);
  } else {
    it.body.hidden = !it.body.hidden;
  }
  it.element.classList.toggle("open", !it.body.hidden);
  it.head.setAttribute("aria-expanded", String(!it.body.hidden));
}

let selected = null;

function select(it) {
  if (selected) selected.element.classList.remove("selected");
  selected = it;
  it.element.classList.add("selected");
}

/** Moves to the next row that is shown, or to the one before. */
function move(step) {
  const shown = rows.filter((it) => !it.element.hidden);
  if (!shown.length) return;
  const at = shown.indexOf(selected);
  const next = at < 0 ? 0 : Math.min(Math.max(at + step, 0), shown.length - 1);
  select(shown[next]);
  shown[next].head.focus({ preventScroll: true });
  shown[next].element.scrollIntoView({ block: shown[next].element.classList.contains("open") ? "start" : "nearest" });
}

const CHOICES = {
  severity: { all: "all severities", of: (it) => [it.finding.severity] },
  rule: { all: "all rules", of: (it) => [it.finding.rule] },
  class: { all: "all classes", of: (it) => [it.type] },
  thread: { all: "all threads", of: (it) => it.threads },
  evidence: { all: "all evidence", of: (it) => it.finding.evidence },
};

function fillChoices() {
  for (const [id, choice] of Object.entries(CHOICES)) {
    const counts = new Map();
    for (const it of rows) for (const value of choice.of(it)) counts.set(value, (counts.get(value) || 0) + 1);
    choice.counts = counts;
    // An empty value is "all"; the others have a mark before them, for a thread may be called anything.
    find(id).append(make("option", { value: "" }, choice.all),
      ...[...counts.keys()].sort().map((value) => make("option", { value: `=${value}` }, `${value} (${counts.get(value)})`)));
  }
}

function filter() {
  const words = find("text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = Object.entries(CHOICES).map(([id, choice]) => [find(id).value, choice]).filter(([value]) => value);
  let count = 0;
  for (const it of rows) {
    const fits = words.every((word) => it.words.includes(word))
      && chosen.every(([value, choice]) => [...choice.of(it)].includes(value.slice(1)));
    it.element.hidden = !fits;
    count += fits;
  }
  find("shown").textContent = count === rows.length ? "" : `${count} of ${rows.length}`;
  find("nothing").hidden = count > 0;
  find("nothing").textContent = rows.length ? "No finding fits these filters." : "No findings.";
}

function overview() {
  const { tool, stats, notes } = data.report;
  find("tool").textContent = `${tool.name} ${tool.version}`;
  const looked = [["classes", "class"], ["threads", "thread"]].filter(([name]) => name in stats)
    .map(([name, one]) => stats[name] === 1 ? `1 ${one}` : `${stats[name]} ${name}`);
  const suppressed = rows.filter((it) => it.finding.suppression).length;
  find("summary").textContent = counted(rows.length, "finding") + (looked.length ? ` in ${looked.join(" and ")}` : "")
    + (suppressed ? `, ${suppressed} of them suppressed` : "");
  for (const [id, order] of [["severity", ["error", "warning", "note"]], ["rule", null], ["evidence", ["observed", "predicted", "suspected"]]]) {
    const { counts } = CHOICES[id];
    for (const value of (order || [...counts.keys()].sort()).filter((it) => counts.has(it))) {
      const mark = id === "severity" ? make("span", { class: `dot ${value}` }, "● ") : null;
      const choose = () => { find(id).value = `=${value}`; filter(); };
      find("overview").append(make("button", { type: "button", title: data.rules[value] || value, onclick: choose },
        mark, make("b", {}, String(counts.get(value))), value));
    }
  }
  if (notes.length) {
    find("notes").hidden = false;
    find("notes").querySelector("summary").textContent = counted(notes.length, "note");
    find("notes").querySelector("ul").append(...notes.map((note) => make("li", {}, note)));
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (event.key === "Escape") {
    event.target.blur();
    if (event.target.id === "text") move(0);
  } else if (typing) {
    if (event.key === "Enter" && event.target.id === "text") { event.preventDefault(); move(0); }
  } else if (event.key === "/") {
    event.preventDefault();
    find("text").focus();
  } else if (event.key === "j" || event.key === "k") {
    move(event.key === "j" ? 1 : -1);
  } else if (event.key === "Enter" && selected && event.target.tagName !== "BUTTON" && event.target.tagName !== "SUMMARY") {
    toggle(selected);
  }
}

/** A link to a finding is its fingerprint. */
function openLinked() {
  const it = rows.find((one) => `#${one.finding.fingerprint}` === location.hash);
  if (!it) return;
  select(it);
  if (!it.body || it.body.hidden) toggle(it);
  it.element.scrollIntoView();
}

find("findings").append(...rows.map(row));
fillChoices();
overview();
filter();
find("filters").addEventListener("input", filter);
find("filters").addEventListener("submit", (event) => event.preventDefault());
find("filters").addEventListener("reset", () => setTimeout(filter));
document.addEventListener("keydown", onKey);
addEventListener("hashchange", openLinked);
openLinked();
