// Drawings of findings: the cycle of a deadlock, the time lines of a run, the uses of an object.

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

/** A class by its last name: `bank.Bank$Teller (#3)` is `Teller (#3)`. */
const short = (name) => name.replace(/^\S*[.$](?=[^.$\s]+(\s|$))/, "");

function shortSubject(finding) {
  const { method, variable } = finding;
  if (variable && variable.field === "[]") return `elements of ${short(variable.class)}`;
  if (variable) return variable.class === null ? variable.field : `${short(variable.class)}.${variable.field}`;
  return method ? `${short(method.class)}.${method.method}` : short(subjectOf(finding));
}

const threadOf = (access) => access.thread === null ? "any thread" : access.thread;

function canvas(width, height, title, ...children) {
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title }, ...children);
  return make("div", { class: "picture" }, svg);
}

function picture(finding, accesses) {
  if ((finding.locks || []).length > 1) return cyclePicture(finding);
  if (!accesses.length) return null;
  const ran = finding.evidence.some((kind) => kind !== "suspected");
  // Of a race only the two that race have a known order in time.
  const inTime = unordered(finding) ? 2 : MOST_DRAWN;
  return ran ? timePicture(finding, accesses.slice(0, inTime)) : usePicture(finding, accesses.slice(0, MOST_DRAWN));
}

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
  return canvas(width, height, "The cycle of locks", ...parts, ...names, caption);
}

/** A lane for each thread, time to the right, locks as bars around what is done while they are held. */
function timePicture(finding, accesses) {
  const threads = [...new Set(accesses.map(threadOf))];
  const column = 260;
  const left = 150;
  const held = Math.min(3, Math.max(0, ...accesses.map((access) => access.locks.length)));
  const lane = 92 + held * 22;
  const [width, height] = [left + accesses.length * column + 20, threads.length * lane + 18];
  const laneY = (thread) => threads.indexOf(thread) * lane + lane / 2;
  const parts = [];
  for (const thread of threads) {
    const y = laneY(thread);
    parts.push(label(8, y + 4, thread, 18, {}), draw("line", { class: "line", x1: left - 10, y1: y, x2: width - 14, y2: y }),
      draw("path", { class: "line", d: `M${width - 20},${y - 4} L${width - 14},${y} L${width - 20},${y + 4}` }));
  }
  parts.push(label(width - 14, height - 6, "time", 8, { "text-anchor": "end", class: "faint" }));
  const points = accesses.map((access, index) => [left + index * column + column / 2, laneY(threadOf(access))]);
  const pointsDown = points.length > 1 && points[1][1] > points[0][1];
  accesses.forEach((access, index) => {
    const [x, y] = points[index];
    access.locks.slice(0, 3).forEach((lock, depth) => {
      const half = 92 - depth * 8;
      const rise = 14 + (Math.min(3, access.locks.length) - depth) * 22;
      parts.push(draw("rect", { class: "held", x: x - half, y: y - rise, width: 2 * half, height: rise + 14, rx: 5 }),
        label(x, y - rise + 15, short(lock), 23 - 2 * depth, { ...middle, class: "green" }));
    });
    parts.push(draw("circle", { class: access.kind === "read" ? "read" : "write", cx: x, cy: y, r: 6 }),
      label(x, pointsDown && index === 0 ? y - 14 - Math.min(3, access.locks.length) * 22 - 8 : y + 30,
        `${index + 1} ${access.kind} ${shortPlace(access)}`, 34, middle));
  });
  if (points.length > 1 && accesses[0].thread !== accesses[1].thread) {
    const [[x1, y1], [x2, y2]] = points;
    parts.push(draw("line", { class: "danger", x1: x1 + 8, y1: y1 + 6, x2: x2 - 8, y2: y2 - 6 }),
      label((x1 + x2) / 2 + 16, (y1 + y2) / 2 - 2, unordered(finding), 40, { class: "alarm" }));
  }
  return canvas(width, height, "The threads in time", ...parts);
}

const unordered = (finding) => ({ "data-race": "nothing orders these two", "lockset-race": "no lock in common",
  "object-race": "no lock in common" })[finding.rule] || "";

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
  return canvas(width, height, "Who uses it", ...parts, ...boxes);
}
