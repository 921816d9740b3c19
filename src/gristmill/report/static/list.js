// The episode list: rows come as JSON blocks, a page of them at a time becomes a table.
"use strict";
(() => {
  const PAGE = 50;
  const KINDS = ["defect", "risk", "trait"];
  const LOW_DIM = 1;  // bit of the uses; vision is 2
  const VERDICTS = ["keep", "trim", "quarantine", "drop"];
  const byId = (id) => document.getElementById(id);
  const table = byId("episodes");
  const body = table.tBodies[0];
  const rate = Number(table.dataset.rate);
  const text = byId("text"), check = byId("check"), order = byId("order");
  const shown = byId("shown"), pager = byId("pager"), filters = byId("filters");

  const text_of = (block, at) => (at < 0 ? "" : block[at]);
  const finding = (s, f) => ({
    check: text_of(s, f[0]), kind: f[1], channel: text_of(s, f[2]), camera: text_of(s, f[3]), spans: f[4],
    measured: f[5], threshold: f[6], unit: text_of(s, f[7]), message: text_of(s, f[8]),
  });
  const episodes = [];
  for (const script of document.querySelectorAll("script.rows")) {
    const { s, r } = JSON.parse(script.textContent);
    script.remove();
    for (const row of r) {
      const findings = row[7].map((f) => finding(s, f));
      const hard = [0, 1].map((kind) => findings.filter((f) => f.kind === kind).length);
      episodes.push({
        row: episodes.length, index: row[0], frames: row[1], verdict: row[2], uses: row[3], task: text_of(s, row[4]),
        reasons: row[5].map((at) => s[at]), detailed: Boolean(row[6]), findings, more: row[8],
        score: row[2] * 1e6 + hard[0] * 1e3 + hard[1],
      });
    }
  }

  const good = (episode) => VERDICTS[episode.verdict] === "keep" || VERDICTS[episode.verdict] === "trim";
  // Where no episode can be used for vision, the verdict above says so once.
  const vision = episodes.some((episode) => good(episode) && episode.uses > LOW_DIM);
  const words = (check) => check.charAt(0).toUpperCase() + check.slice(1).replaceAll("_", " ");
  const number = (x) => (x === null ? "" : String(Number(x.toPrecision(3))).replace("-", "−"));
  const seconds = (episode) => {
    const s = episode.frames / rate;
    if (!Number.isFinite(s)) return `${episode.frames} fr.`;
    return s < 100 ? `${s.toFixed(1)} s` : `${Math.round(s)} s`;
  };
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const icon = (name) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    svg.setAttribute("class", `icon ${name}`);
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#i-${name}`);
    svg.append(use);
    return svg;
  };

  // What the search box looks through; made when it is first used.
  const haystack = (episode) => {
    episode.hay ??= [
      episode.index, episode.task, VERDICTS[episode.verdict], ...episode.reasons,
      ...episode.findings.flatMap((f) => [f.check, words(f.check), KINDS[f.kind], f.channel, f.camera, f.message]),
    ].join("\n").toLowerCase();
    return episode.hay;
  };

  const ORDERS = {
    worst: (a, b) => b.score - a.score || a.row - b.row,
    index: (a, b) => a.row - b.row,
    longest: (a, b) => b.frames - a.frames || a.row - b.row,
    shortest: (a, b) => a.frames - b.frames || a.row - b.row,
  };
  let found = [], page = 0;

  const sentence = (f) => {
    const where = [f.channel, f.camera].filter(Boolean).join(", ");
    const spans = [];
    for (let i = 0; i + 1 < f.spans.length; i += 2) spans.push(`${number(f.spans[i])}–${number(f.spans[i + 1])}`);
    const size = f.measured === null ? "" :
      `measured ${number(f.measured)} ${f.unit}`.trim() + (f.threshold === null ? "" : `, threshold ${number(f.threshold)}`);
    const message = f.message.replace(/^episode \d+[:,] /, "");  // the row says it already
    return message || [where, spans.length ? `${spans.join(", ")} s` : "", size].filter(Boolean).join(" · ");
  };
  const findings_cell = (episode) => {
    const cell = make("td");
    const checks = new Map();
    for (const f of episode.findings) if (!checks.has(f.check)) checks.set(f.check, f.kind);
    for (const [name, kind] of [...checks].slice(0, 4)) {
      const tag = make("span", { class: "tag" }, icon(KINDS[kind]), words(name));
      tag.title = KINDS[kind];
      cell.append(tag, " ");
    }
    if (checks.size > 4) cell.append(make("span", { class: "tag" }, `+${checks.size - 4}`));
    return cell;
  };
  const expand = (episode) => {
    const list = make("ul");
    for (const f of episode.findings) {
      const line = make("span", {}, make("b", {}, words(f.check)), ` (${KINDS[f.kind]}) ${sentence(f)}`);
      list.append(make("li", {}, icon(KINDS[f.kind]), line));
    }
    if (episode.more) list.append(make("li", { class: "note" }, `and ${episode.more} more`));
    // A cell across columns that a phone hides would bring them back.
    const columns = [...table.tHead.rows[0].cells].filter((head) => head.offsetParent).length;
    const cell = make("td", { colspan: String(columns) }, list);
    const task = episode.task ? [" · Task: ", make("bdi", {}, episode.task)] : [];
    cell.append(make("p", { class: "note" }, `${seconds(episode)}, ${episode.frames.toLocaleString("en")} frames`, ...task));
    if (episode.reasons.length) cell.append(make("p", { class: "note" }, `Decided by ${episode.reasons.join(", ")}`));
    if (episode.detailed) cell.append(make("a", { href: `#e${episode.row}` }, "Signals and frames"));
    return make("tr", { class: "open" }, cell);
  };
  const line = (episode) => {
    const first = make("th", { scope: "row" });
    const tr = make("tr", {}, first, make("td", { class: "num" }, seconds(episode)));
    if (episode.findings.length || episode.reasons.length) {
      const button = make("button", { type: "button", class: "row", "aria-expanded": "false" }, String(episode.index));
      button.addEventListener("click", () => {
        const open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!open));
        if (open) tr.nextElementSibling.remove();
        else tr.after(expand(episode));
      });
      first.append(button);
    } else first.append(String(episode.index));
    const verdict = VERDICTS[episode.verdict];
    const cell = make("td", {}, make("span", { class: `badge ${verdict}` }, icon(verdict), verdict));
    if (vision && good(episode) && episode.uses === LOW_DIM) cell.append(make("span", { class: "limits" }, "not for vision"));
    tr.append(cell);
    tr.append(findings_cell(episode), make("td", { class: "task" }, make("bdi", {}, episode.task)));
    return tr;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const from = page * PAGE, to = Math.min(from + PAGE, found.length);
    body.replaceChildren(...found.slice(from, to).map(line));
    table.hidden = !found.length;
    pager.hidden = pages === 1;
    pager.children[0].disabled = page === 0;
    pager.children[2].disabled = page === pages - 1;
    pager.children[1].textContent = `Page ${page + 1} of ${pages}`;
    const all = episodes.length.toLocaleString("en");
    shown.textContent = !found.length ? `None of ${all} episodes matches.`
      : found.length === episodes.length ? `${all} episodes` : `${found.length.toLocaleString("en")} of ${all} episodes`;
  };
  const filter = () => {
    const wanted = text.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set([...filters.elements.verdict].filter((box) => box.checked).map((box) => Number(box.value)));
    found = episodes.filter((episode) =>
      verdicts.has(episode.verdict) &&
      (!check.value || episode.findings.some((f) => f.check === check.value)) &&
      wanted.every((word) => haystack(episode).includes(word)));
    found.sort(ORDERS[order.value]);
    page = 0;
    draw();
  };

  for (const name of [...new Set(episodes.flatMap((e) => e.findings.map((f) => f.check)))].sort()) {
    check.append(make("option", { value: name }, words(name)));
  }
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  pager.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    page += Number(button.dataset.step);
    draw();
    byId("list").scrollIntoView();
  });
  for (const button of document.querySelectorAll("button[data-check]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      check.value = button.dataset.check;
      text.value = "";
      for (const box of filters.elements.verdict) box.checked = true;
      filter();
      byId("list").scrollIntoView();
      check.focus({ preventScroll: true });
    });
  }
  filters.hidden = false;
  filter();
})();
