// The time lines of threads: what they did to synchronize, the accesses among it, and what came after what because of it.

const VERBS = { begin: "started by", acquire: "takes", release: "releases", "acquire-shared": "takes, shared,",
  "release-shared": "releases, shared,", wait: "waits on", wake: "is back from waiting on", start: "starts", join: "has seen the end of",
  "volatile-write": "writes volatile", "volatile-read": "reads volatile", send: "sends to", receive: "receives from" };
const [STEP, ACCESS, GAP] = [27, 46, 24];

/** Time goes down, a lane for each thread. Where nobody knows what happened in between, the accesses stand alone. */
function timePicture(finding, accesses) {
  const isKnown = Boolean(finding.timeline);
  const threads = isKnown ? accesses.map(threadOf) : [...new Set(accesses.map(threadOf))];
  const steps = isKnown ? finding.timeline
    : accesses.map((access) => ({ lane: threads.indexOf(threadOf(access)), kind: "access", access }));
  const width = 900;
  const isPair = threads.length === 2;
  const column = width / threads.length;
  const laneX = (lane) => isPair ? width / 2 + (lane - 0.5) * 230 : lane * column + 24;
  const room = Math.floor((isPair ? laneX(0) - 24 : column - 44) / 7.3);
  const rows = [];
  let bottom = 48;
  for (const step of steps) {
    const height = step.kind === "access" ? ACCESS : STEP;
    bottom += step.gap ? GAP : 0;
    rows.push(bottom + height / 2);
    bottom += height;
  }
  const end = bottom + 8;
  const [lines, marks, words] = [[], [], []];
  threads.forEach((thread, lane) => {
    const x = laneX(lane);
    const begin = steps.findIndex((step) => step.lane === lane && step.kind === "begin");
    const top = begin < 0 ? 36 : rows[begin];
    if (begin >= 0) lines.push(draw("line", { class: "line dotted", x1: x, y1: 36, x2: x, y2: top }));
    lines.push(...arrow(`M${x},${top} L${x},${end}`, [x, end + 4], 90, "flow"),
      ...bars(steps, rows, lane, accesses, isKnown).map(([from, to, depth]) =>
        draw("rect", { class: "held", x: x - 5 + depth * 4, y: from, width: 10, height: to - from, rx: 3 })),
      label(isPair ? x : x - 14, 24, thread, isPair ? 28 : room, { ...(isPair ? middle : {}), class: "strong" }));
  });
  steps.forEach((step, index) => {
    const [x, y] = [laneX(step.lane), rows[index]];
    const isLeft = isPair && step.lane === 0;
    const at = { x: isLeft ? x - 18 : x + 18, "text-anchor": isLeft ? "end" : "start" };
    const say = (dy, text, kind) => marks.push(label(at.x, y + dy, text, room, { "text-anchor": at["text-anchor"], class: `halo ${kind}` }));
    if (step.gap) {
      marks.push(label(at.x, y - STEP / 2 - 8, "… more steps, not remembered", room, { "text-anchor": at["text-anchor"], class: "faint" }));
    }
    if (step.kind === "access") {
      const access = step.access || accesses[step.lane];
      const number = accesses.indexOf(access) + 1;
      const what = isKnown ? ` ${shortSubject(finding)}` : "";
      const lock = access.locks.length ? `holding ${access.locks.map(short).join(", ")}` : "holding no lock";
      marks.push(draw("circle", { class: access.kind === "read" ? "read" : "write", cx: x, cy: y, r: 7 }));
      say(-3, `${number} ${access.kind}${what} ${shortPlace(access)}`, "strong");
      say(14, lock, access.locks.length ? "green" : "alarm");
      words.push(`${threadOf(access)}: ${access.kind} at ${shortPlace(access)}, ${lock}`);
    } else {
      const said = `${VERBS[step.kind]} ${shortOn(step)}`;
      const place = step.frame ? shortPlace({ stack: [step.frame] }) : "";
      marks.push(draw("circle", { class: "step", cx: x, cy: y, r: 3.5 }));
      say(4, said, "");
      const text = marks[marks.length - 1];
      if (said.length + place.length < room) text.append(draw("tspan", { class: "faint", dx: 7 }, place));
      text.append(draw("title", {}, `${VERBS[step.kind]} ${step.on}${place && ` at ${place}`}`));
      words.push(`${threads[step.lane]} ${said}`);
    }
    if (Number.isInteger(step.after)) {
      const [fromX, fromY] = [laneX(steps[step.after].lane), rows[step.after]];
      const side = Math.sign(fromX - x);
      const [tipX, tailX] = [x + side * 8, fromX - side * 8];
      const angle = Math.atan2(y - fromY, tipX - tailX) * 180 / Math.PI;
      lines.push(...arrow(`M${tailX},${fromY} L${tipX},${y}`, [tipX, y], angle, "sync"));
    }
  });
  lines.push(...verdict(finding, steps, rows, laneX, isPair));
  return canvas([width, end + 10], "The threads in time", words, ...lines, ...marks);
}

/** What a step is done with: threads by their names, variables with their class, the rest by its last name. */
function shortOn({ kind, on }) {
  if (["begin", "start", "join"].includes(kind)) return on;
  return kind.startsWith("volatile") ? on.split(/[.$]/).slice(-2).join(".") : short(on);
}

/** What is wrong with the two accesses, between them. */
function verdict(finding, steps, rows, laneX, isPair) {
  const [first, second] = [0, 1].map((lane) => steps.findIndex((step) => step.kind === "access" && step.lane === lane));
  if (!isPair || first < 0 || second < 0) return [];
  const observed = finding.evidence.includes("observed");
  const said = finding.rule === "data-race" && !observed ? "in another order they meet" : unordered(finding);
  const [y1, y2] = [rows[first], rows[second]];
  // Where no arrow is, if there is such a place.
  const spans = steps.flatMap((step, index) => Number.isInteger(step.after) ? [[rows[step.after], rows[index]]] : []);
  const isFree = (y) => spans.every(([from, to]) => y < Math.min(from, to) - 14 || y > Math.max(from, to) + 14);
  const places = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map((part) => y1 + (y2 - y1) * part);
  return [draw("line", { class: "danger", x1: laneX(0) + 10, y1, x2: laneX(1) - 10, y2 }),
    label((laneX(0) + laneX(1)) / 2, (places.find(isFree) || places[0]) + 4, said, 40, { ...middle, class: "alarm halo" })];
}

/** When a thread holds a lock: from where to where, and how many it held before. */
function bars(steps, rows, lane, accesses, isKnown) {
  if (!isKnown) return [];
  const [found, open] = [[], new Map()];
  const close = (lock, y) => {
    if (open.has(lock)) found.push([...open.get(lock).slice(0, 1), y, open.get(lock)[1]]);
    open.delete(lock);
  };
  const hold = (lock, y) => { if (!open.has(lock)) open.set(lock, [y, open.size]); };
  let [known, last] = [40, 40];
  steps.forEach((step, index) => {
    if (step.lane !== lane) return;
    const y = rows[index];
    if (step.gap) {
      for (const lock of [...open.keys()]) close(lock, last + 6);
      known = y - STEP / 2;
    }
    if (step.kind === "access") for (const lock of accesses[lane].locks) hold(lock, known);
    if (["acquire", "acquire-shared", "wake"].includes(step.kind)) hold(step.on, y);
    if (["release", "release-shared", "wait"].includes(step.kind)) {
      // What is given back was taken before.
      hold(step.on, known);
      close(step.on, y);
    }
    last = y;
  });
  for (const lock of [...open.keys()]) close(lock, last + 12);
  return found;
}
