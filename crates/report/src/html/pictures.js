// Drawings of findings: what they share, the cycle of a deadlock, and who uses a variable.

const MOST_LOCKS = 10;
const MOST_DRAWN = 6;

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Text that is cut to a length, with all of it as a tooltip. */
function label(x, y, text, length, attributes) {
  const shown = text.length > length ? `${text.slice(0, length - 1)}…` : text;
  const element = draw("text", { x, y, ...attributes }, shown);
  if (shown !== text) element.append(draw("title", {}, text));
  return element;
}

const middle = { "text-anchor": "middle" };

/** A class by its last name: `bank.Bank$Teller (#3)` is `Teller (#3)`. What the JVM calls a lambda tells nobody anything. */
const short = (name) => name.replace(/\$\$Lambda\S*/, "-lambda").replace(/^\S*[.$](?=[^.$\s]+(\s|$))/, "");

function shortSubject(finding) {
  const { method, variable } = finding;
  if (variable && variable.field === "[]") return `elements of ${short(variable.class)}`;
  if (variable) return variable.class === null ? variable.field : `${short(variable.class)}.${variable.field}`;
  return method ? `${short(method.class)}.${method.method}` : short(subjectOf(finding));
}

const threadOf = (access) => access.thread === null ? "any thread" : access.thread;

/** A picture with a name, and with words for those who cannot see it. */
function canvas([width, height], title, words, ...children) {
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title },
    draw("desc", {}, words.join("; ")), ...children);
  return make("div", { class: "picture" }, svg);
}

/** A line with a point at its end. */
function arrow(path, [x, y], angle, kind) {
  return [draw("path", { class: kind, d: path }),
    draw("path", { class: `${kind} tip`, d: "M0,0 L-9,-4 L-9,4 Z", transform: `translate(${x} ${y}) rotate(${angle})` })];
}

function pictures(finding, accesses) {
  if (finding.rule === "lock-order-cycle" && finding.locks && finding.locks.length > 1) return [cyclePicture(finding)];
  const drawn = [];
  const ran = finding.evidence.some((kind) => kind !== "suspected");
  // Of a race only the two that race have a known order in time. One access alone says no more in a picture than in its box.
  const inTime = unordered(finding) ? 2 : MOST_DRAWN;
  if (ran && accesses.length > 1) drawn.push(timePicture(finding, accesses.slice(0, inTime)));
  if (finding.uses) drawn.push(graphPicture(finding, finding.uses));
  if (!drawn.length && accesses.length > 1) drawn.push(usePicture(finding, accesses.slice(0, MOST_DRAWN)));
  return drawn;
}

const unordered = (finding) => ({ "data-race": "nothing orders these two", "lockset-race": "no lock in common",
  "object-race": "no lock in common" })[finding.rule] || "";

/** Locks on a circle; an arrow is a thread that holds one and wants the next. */
function cyclePicture(finding) {
  const all = finding.locks.length;
  const isCut = all > MOST_LOCKS;
  const locks = isCut ? [...finding.locks.slice(0, MOST_LOCKS - 1), `… ${all - MOST_LOCKS + 1} more`] : finding.locks;
  const width = 900;
  const isPair = locks.length < 3;
  const [rx, ry] = [isPair ? 250 : 300, isPair ? 0 : 60 + 8 * locks.length];
  const angles = locks.map((_, index) => 2 * Math.PI * index / locks.length - (isPair ? Math.PI : Math.PI / 2));
  const room = isPair ? 70 : 36;
  const top = ry * Math.min(...angles.map(Math.sin)) - room;
  const height = ry * Math.max(...angles.map(Math.sin)) + room - top;
  const at = angles.map((angle) => [width / 2 + rx * Math.cos(angle), ry * Math.sin(angle) - top]);
  const parts = [];
  const names = [];
  at.forEach(([x, y], index) => {
    const [toX, toY] = at[(index + 1) % at.length];
    // Arrows bend outwards, so that the two of a pair are apart.
    const [dx, dy] = [toX - x, toY - y];
    const distance = Math.hypot(dx, dy) || 1;
    const bend = isPair ? 75 : 25;
    const [midX, midY] = [(x + toX) / 2 + dy / distance * bend, (y + toY) / 2 - dx / distance * bend];
    const point = (t) => [0, 1].map((axis) => {
      const [from, mid, to] = [[x, midX, toX], [y, midY, toY]][axis];
      return (1 - t) * (1 - t) * from + 2 * t * (1 - t) * mid + t * t * to;
    });
    let t = 1;
    const outside = ([px, py]) => Math.abs(px - toX) > 96 || Math.abs(py - toY) > 21;
    while (t > 0.5 && !outside(point(t))) t -= 0.01;
    const [[tipX, tipY], [tailX, tailY]] = [point(t), point(t - 0.03)];
    const angle = Math.atan2(tipY - tailY, tipX - tailX) * 180 / Math.PI;
    parts.push(draw("path", { class: "danger", d: `M${x},${y} Q${midX},${midY} ${toX},${toY}` }),
      draw("path", { class: "arrow", d: "M0,0 L-11,-5 L-11,5 Z", transform: `translate(${tipX} ${tipY}) rotate(${angle})` }));
    const access = finding.accesses[index];
    if (access && !(isCut && index >= MOST_LOCKS - 2)) {
      const [nameX, nameY] = point(0.5);
      const said = `${threadOf(access)} at ${shortPlace(access)}`;
      const aside = nameX - width / 2;
      const isBeside = !isPair && Math.abs(aside) > 40;
      names.push(isBeside
        ? label(nameX + Math.sign(aside) * 10, nameY, said, 34, { "text-anchor": aside < 0 ? "end" : "start" })
        : label(nameX, nameY + (midY < (y + toY) / 2 ? -8 : 16), said, 50, middle));
    }
  });
  at.forEach(([x, y], index) => parts.push(
    draw("rect", { class: "node", x: x - 92, y: y - 17, width: 184, height: 34, rx: 8 }),
    label(x, y + 4, short(locks[index]), 24, middle)));
  const caption = label(width / 2, -top + 4, isPair ? "each waits for the other" : "each waits for the next", 40, { ...middle, class: "faint" });
  const words = finding.accesses.slice(0, MOST_LOCKS).map((access) => `${threadOf(access)} at ${shortPlace(access)}`);
  return canvas([width, height], "The cycle of locks", words, ...parts, ...names, caption);
}

/** The object in the middle of its uses: thread, what it does and where, the locks that it passes through. */
function usePicture(finding, accesses) {
  const numbers = new Map(accesses.map((access, index) => [access, index + 1]));
  accesses = [...new Set(accesses.map(threadOf))].flatMap((thread) => accesses.filter((it) => threadOf(it) === thread));
  const row = 62;
  const [width, height] = [820, accesses.length * row + 20];
  const threads = [...new Set(accesses.map(threadOf))];
  const rowY = (index) => index * row + row / 2 + 10;
  const threadY = (thread) => {
    const own = accesses.map((access, index) => [threadOf(access), rowY(index)]).filter(([name]) => name === thread);
    return own.reduce((sum, [, y]) => sum + y, 0) / own.length;
  };
  const target = [700, height / 2];
  const parts = [];
  const boxes = [];
  accesses.forEach((access, index) => {
    const y = rowY(index);
    parts.push(draw("line", { class: "line", x1: 120, y1: threadY(threadOf(access)), x2: 225, y2: y }),
      draw("line", { class: access.locks.length ? "line" : "danger", x1: 445, y1: y, x2: target[0] - 90, y2: target[1] }));
    boxes.push(draw("rect", { class: "node", x: 225, y: y - 24, width: 220, height: 48, rx: 6 }),
      draw("circle", { class: access.kind === "read" ? "read" : "write", cx: 241, cy: y - 8, r: 5 }),
      label(254, y - 4, `${numbers.get(access)} ${access.kind} ${shortPlace(access)}`, 25, {}));
    const lock = access.locks.length ? `holding ${access.locks.map(short).join(", ")}` : "holding no lock";
    boxes.push(label(236, y + 14, lock, 28, { class: access.locks.length ? "green" : "alarm" }));
  });
  for (const thread of threads) {
    const y = threadY(thread);
    boxes.push(draw("rect", { class: "node", x: 6, y: y - 16, width: 150, height: 32, rx: 16 }), label(81, y + 4, thread, 19, middle));
  }
  boxes.push(draw("rect", { class: "node", x: target[0] - 90, y: target[1] - 20, width: 200, height: 40, rx: 6 }),
    label(target[0] + 10, target[1] + 4, shortSubject(finding), 26, middle));
  const words = accesses.map((access) => `${threadOf(access)}: ${access.kind} at ${shortPlace(access)}`);
  return canvas([width, height], "Who uses it", words, ...parts, ...boxes);
}
