// What is under a finding when it is unfolded: made when it is first asked for.

const MOST_ACCESSES = 20;

function details(it) {
  const { finding } = it;
  const different = [];
  const seen = new Set();
  finding.accesses.forEach((access, position) => {
    const text = JSON.stringify(access);
    if (!seen.has(text) || position < 2) different.push(access);
    seen.add(text);
  });
  const [pair, others] = [different.slice(0, 2), different.slice(2, MOST_ACCESSES)];
  const body = make("div", { class: "body" },
    ...pictures(finding, different),
    make("div", { class: "pair" }, ...pair.map((access, position) => accessBox(access, position + 1))));
  if (others.length) {
    const left = different.length - 2 - others.length;
    body.append(make("details", { class: "more" },
      make("summary", {}, `Further accesses: ${different.length - 2}`),
      make("div", { class: "pair" }, ...others.map((access, position) => accessBox(access, position + 3))),
      left ? make("p", {}, `… and ${left} more, which the JSON form has`) : null));
  }
  body.append(facts(finding));
  return body;
}

function accessBox(access, number) {
  const [frame] = access.stack;
  const thread = access.thread === null ? "any thread" : access.thread;
  const locks = access.locks.length ? access.locks.slice(0, 20).map((lock) => make("span", { class: "lock mono" }, lock)) : ["no lock"];
  return make("section", { class: "access" },
    make("h3", {}, `${number}. ${access.kind} by ${thread}`),
    make("p", {}, "holding ", ...locks),
    ...sourceOf(frame),
    make("ol", { class: "stack mono" }, ...access.stack.map((it) => make("li", {}, frameText(it)))));
}

/** The lines around a place, if they are at hand. */
function sourceOf(frame) {
  if (!frame || !frame.file || !frame.line) return [];
  const folder = frame.class.includes(".") ? `${frame.class.slice(0, frame.class.lastIndexOf(".")).replaceAll(".", "/")}/` : "";
  const file = data.sources[folder + frame.file];
  if (!file || !(frame.line in file.lines)) return [];
  const lines = [];
  for (let number = frame.line - data.around; number <= frame.line + data.around; number++) {
    if (!(number in file.lines)) continue;
    lines.push(make("div", number === frame.line ? { class: "here" } : {}, make("i", {}, String(number)), file.lines[number]));
  }
  return [make("p", { class: "path mono" }, `${file.path}:${frame.line}`), make("pre", { class: "source" }, ...lines)];
}

function facts(finding) {
  const list = make("dl", {});
  const add = (name, ...what) => list.append(make("dt", {}, name), make("dd", {}, ...what));
  add("rule", `${finding.rule}: ${data.rules[finding.rule]}`);
  if (finding.reasons.length) add("why", make("ul", {}, ...finding.reasons.map((reason) => make("li", {}, reason.replace(/^= /, "")))));
  if (finding.hint) add("hint", finding.hint);
  if (finding.suppression) {
    const place = finding.suppression.kind === "inSource" ? "in the source" : "in a file beside it";
    add("suppressed", `${place}: ${finding.suppression.justification || "no reason is given"}`);
  }
  add("found", `${finding.evidence.join(", ")} by ${finding.detectors.join(", ")}`);
  add("fingerprint", make("a", { href: `#${finding.fingerprint}`, class: "mono" }, finding.fingerprint));
  return list;
}
