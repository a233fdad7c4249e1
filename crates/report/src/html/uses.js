// The object use graph of a finding: a lane for each thread, what happens to the object in it, and what may follow what.

const USES = { new: "makes it", escape: "hands it on", read: "reads", write: "writes", start: "starts", join: "waits for the end of" };

function graphPicture(finding, graph) {
  const { threads, nodes, edges } = graph;
  const column = Math.max(250, Math.min(380, 1080 / threads.length));
  const [boxWidth, boxHeight, rowHeight, top] = [column - 60, 44, 66, 72];
  const room = Math.floor((boxWidth - 20) / 7.3);
  const back = backEdges(nodes.length, edges);
  const rows = layers(nodes, edges, back);
  const place = (node) => [nodes[node].thread * column + 20, top + rows[node] * rowHeight];
  const [width, height] = [Math.max(threads.length * column, 600) + 20, top + (Math.max(0, ...rows) + 1) * rowHeight + (graph.left_out ? 14 : -8)];
  const [lines, boxes] = [[], []];
  threads.forEach((thread, lane) => {
    const name = thread.several ? `${thread.name} (may be several)` : thread.name;
    boxes.push(label(lane * column + 20 + boxWidth / 2, 54, name, room + 4, { ...middle, class: "strong" }));
  });
  for (const [index, edge] of edges.entries()) lines.push(...edgePath(edge, back.has(index)));
  const words = nodes.map((node, index) => {
    const [x, y] = place(index);
    const number = node.defect ? `${numberOf(finding, graph, node)} ` : "";
    const verb = node.kind === "escape" && node.on ? "puts it into" : USES[node.kind];
    const said = `${number}${verb}${node.on ? ` ${node.on}` : ""}`;
    const isAccess = node.kind === "read" || node.kind === "write";
    const lock = node.locks.length ? `with ${node.locks.map(short).join(", ")}` : "no lock";
    const where = shortPlace({ stack: [node.frame] });
    boxes.push(draw("rect", { class: node.defect ? "node defect" : "node", x, y, width: boxWidth, height: boxHeight, rx: 7 }),
      label(x + (isAccess ? 26 : 12), y + 18, said, room - (isAccess ? 2 : 0), { class: node.defect ? "strong" : "" }),
      label(x + 12, y + 35, where, room, { class: "faint" }));
    if (isAccess) {
      boxes.push(draw("circle", { class: node.kind, cx: x + 16, cy: y + 14, r: 4.5 }),
        label(x + boxWidth - 10, y + 35, lock, Math.max(7, room - where.length - 2), { "text-anchor": "end", class: node.locks.length ? "green" : node.defect ? "alarm" : "faint" }));
    }
    return `${threads[node.thread].name} ${said} at ${where}${isAccess ? `, ${lock}` : ""}`;
  });
  const title = label(20, 22, `the life of ${graph.of}`, Math.floor(width / 7.4) - 4, { class: "faint" });
  const more = graph.left_out
    ? label(20, height - 8, `${counted(graph.left_out, "more use")} left out`, 60, { class: "faint" }) : "";
  return canvas([width, height], "The life of the object", words, title, more, ...lines, ...meeting(), ...boxes);

  /** Along a lane straight down or around what is between; across lanes from side to side. */
  function edgePath({ from, to, kind }, isBack) {
    const [[x1, y1], [x2, y2]] = [place(from), place(to)];
    const style = kind === "thread" ? "sync" : isBack ? "flow dotted" : "flow";
    if (x1 !== x2) {
      const [start, end] = x1 < x2 ? [x1 + boxWidth, x2] : [x1, x2 + boxWidth];
      const [startY, endY] = [y1 + boxHeight / 2, y2 + 12];
      const bend = (end - start) / 2;
      return arrow(`M${start},${startY} C${start + bend},${startY} ${end - bend},${endY} ${end},${endY}`, [end, endY], bend > 0 ? 0 : 180, style);
    }
    if (rows[to] === rows[from] + 1) {
      const x = x1 + boxWidth / 2;
      return arrow(`M${x},${y1 + boxHeight} L${x},${y2}`, [x, y2], 90, style);
    }
    // What goes back goes on the right, what goes ahead over others on the left.
    const [side, out] = isBack ? [x1 + boxWidth, 22] : [x1, -16];
    const [startY, endY] = [y1 + boxHeight * 0.7, y2 + boxHeight * 0.3];
    return arrow(`M${side},${startY} C${side + out},${startY} ${side + out},${endY} ${side},${endY}`, [side, endY], out > 0 ? 180 : 0, style);
  }

  /** The two accesses that are the defect. */
  function meeting() {
    const pair = nodes.flatMap((node, index) => node.defect ? [index] : []);
    if (!unordered(finding) || pair.length !== 2) return [];
    const [[x1, y1], [x2, y2]] = pair.map(place).sort(([one], [other]) => one - other);
    const [startX, endX] = [x1 + boxWidth, x1 === x2 ? x2 + boxWidth : x2];
    const [startY, endY] = [y1 + boxHeight / 2, y2 + boxHeight / 2];
    const far = x1 === x2 ? 40 : 0;
    const path = far ? `M${startX},${startY} C${startX + far},${startY} ${endX + far},${endY} ${endX},${endY}` : `M${startX},${startY} L${endX},${endY}`;
    return [draw("path", { class: "danger", d: path })];
  }
}

/** The place of an access of the defect among those of the finding, from 1; both, if it is alone. */
function numberOf(finding, graph, node) {
  const where = shortPlace({ stack: [node.frame] });
  const fits = finding.accesses.map((access, index) => ({ access, number: index + 1 }))
    .filter(({ access }) => access.kind === node.kind && shortPlace(access) === where);
  const own = fits.filter(({ access }) => threadOf(access).startsWith(graph.threads[node.thread].name));
  const isAlone = graph.nodes.filter((other) => other.defect).length === 1;
  return (own.length ? own : fits).slice(0, isAlone ? 2 : 1).map(({ number }) => number).join(" ");
}

/** The positions of the edges that lead back to where a way came from. */
function backEdges(count, edges) {
  const back = new Set();
  const state = Array(count).fill("new");
  const visit = (node) => {
    state[node] = "open";
    edges.forEach((edge, index) => {
      if (edge.from !== node) return;
      if (state[edge.to] === "open") back.add(index);
      else if (state[edge.to] === "new") visit(edge.to);
    });
    state[node] = "done";
  };
  for (let node = 0; node < count; node++) if (state[node] === "new") visit(node);
  return back;
}

/** The row of each node: below all that leads to it, and below what its lane has already. */
function layers(nodes, edges, back) {
  const ahead = edges.filter((_, index) => !back.has(index));
  const rows = Array(nodes.length).fill(null);
  const next = new Map();
  while (rows.includes(null)) {
    const ready = nodes.map((_, index) => index).filter((node) => rows[node] === null
      && ahead.every((edge) => edge.to !== node || rows[edge.from] !== null));
    const lowest = (node) => Math.max(0, ...ahead.filter((edge) => edge.to === node).map((edge) => rows[edge.from] + 1));
    const node = ready.reduce((best, it) => lowest(it) < lowest(best) ? it : best);
    const { thread } = nodes[node];
    rows[node] = Math.max(lowest(node), next.get(thread) || 0);
    next.set(thread, rows[node] + 1);
  }
  return rows;
}
