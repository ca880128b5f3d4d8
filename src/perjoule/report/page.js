"use strict";
// Draws the figures of the report (Vega-Lite), fits them to the page, and saves them. Needs nothing from outside.
(() => {
  const printed = (_, value) => (typeof value === "string" ? value.replace(/[\u2028\u2029]/g, " ") : value);  // no expression of Vega holds them
  const data = JSON.parse(document.getElementById("data").textContent, printed);
  const root = document.documentElement;
  const NARROW = 640, SIDES = 80, LEAST = 80, PRINTED = 688;  // px: one column below it; beside a panel at first; of a panel; two columns of a journal

  const LINES = "split(replace(datum.label, regexp('(.{14,}?),? ', 'g'), '$1\\n'), '\\n')";  // of a long name

  const theme = () => root.dataset.theme;
  const stored = (() => { try { return localStorage.getItem("perjoule-theme"); } catch { return null; } })();
  root.dataset.theme = stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  // As perjoule.figures.timeline.datasets does: columns to rows of data.
  const unfolded = (line, width) => {
    const phases = Object.entries(line.phases);
    const whole = Math.max(0, ...phases.map(([, [, end]]) => end)) - Math.min(0, ...phases.map(([, [begin]]) => begin));
    const found = {
      window: [{ begin: 0, end: line.duration_s }],
      phases: phases.map(([name, [begin, end]]) => ({ begin, end, name, label: (end - begin) * (width - 70) > 6 * (name.length + 1) * whole ? name : "" })),
      marks: Object.entries(line.marks).map(([name, t]) => ({ t, name })),
    };
    for (const row of ["rate", "watts", "cpu", "network"]) {
      found[row] = [];
      for (const [name, values] of Object.entries(line.rows[row] || {}))
        values.forEach((value, i) => { if (value !== null) found[row].push({ t: line.t_s[i], name, value }); });
    }
    return found;
  };

  // As perjoule.figures.columns does. Every figure is drawn as wide as the page: its panels take what labels leave, in one column on a phone.
  const panels = (spec) => {
    const inner = spec.concat || spec.vconcat || spec.hconcat;
    return inner ? inner.flatMap(panels) : [spec];
  };
  const columns = (spec) => {
    if (spec.concat) return Math.min(spec.columns, spec.concat.length) * Math.max(...spec.concat.map(columns));
    if (spec.hconcat) return spec.hconcat.map(columns).reduce((a, b) => a + b, 0);
    return Math.max(1, ...(spec.vconcat || []).map(columns));
  };
  const each = (spec, act) => {
    if (Array.isArray(spec)) spec.forEach((one) => each(one, act));
    else if (spec && typeof spec === "object") { act(spec); for (const [key, one] of Object.entries(spec)) if (key !== "datasets" && key !== "values") each(one, act); }
  };
  const wrapped = (line, most) => line.split(" ").reduce((lines, word) => {
    const last = lines.length - 1;
    if (last >= 0 && (lines[last] + " " + word).length <= most) lines[last] += " " + word; else lines.push(word);
    return lines;
  }, []);
  const arranged = (spec, width, narrow) => {
    const copy = structuredClone(spec);
    each(copy, (one) => {
      if (narrow && one.hconcat) { one.vconcat = one.hconcat; delete one.hconcat; }
      if (one.concat) one.columns = narrow ? 1 : 2;
      const y = one.encoding?.y;
      if (narrow && y?.type === "nominal") y.axis = { ...y.axis, labelExpr: LINES, labelLineHeight: 12 };
      if (narrow && y?.type === "nominal" && one.width && one.height?.step) one.height.step = Math.max(one.height.step, 42);
    });
    if (narrow) for (const panel of panels(copy)) if (panel.height?.step && !panel.height.for) panel.height.step = Math.max(panel.height.step, 42);
    copy.title.subtitle = (copy.title.subtitle || []).flatMap((line) => wrapped(line, Math.floor(width / 6.2)));
    const across = columns(copy);
    for (const panel of panels(copy)) {
      panel.width = Math.floor(width / across) - SIDES;
      if (panel.title?.text && !Array.isArray(panel.title.text)) panel.title.text = wrapped(panel.title.text, Math.floor(width / across / 7.5));
    }
    const coloured = [];
    each(copy, (one) => { if (one.encoding?.color?.field && one.encoding.color.legend !== null) coloured.push(one.encoding); });
    const longest = Math.max(0, ...coloured.flatMap(({ color }) => (color.scale?.domain || []).map((name) => String(name).length)));
    for (const { color, strokeDash } of coloured) {
      color.legend = { ...color.legend, columns: Math.max(1, Math.floor((width - SIDES) / across / (7 * longest + 32))) };
      if (strokeDash) strokeDash.legend = color.legend;
    }
    return [copy, across];
  };
  const embedded = async (place, spec, width, options, narrow = width < NARROW) => {
    const [fitted, across] = arranged(spec, width, narrow);
    for (let tries = 0; ; tries++) {
      const drawn = await vegaEmbed(place, fitted, options);
      const over = Math.ceil(place.querySelector("svg").viewBox.baseVal.width) - width;
      if (over <= 0 && (over > -12 || tries >= 3)) return drawn;  // another width may have other labels: in the end it need not fill
      if (tries === 6) return across > 1 && !narrow ? embedded(place, spec, width, options, true) : drawn;  // long names
      for (const panel of panels(fitted)) panel.width = Math.max(LEAST, panel.width - Math.ceil(over / across));
    }
  };

  // As perjoule.figures.timeline.completed does: the rows of the picture that have data, the last with the axis of time.
  const complete = (name, width) => {
    const spec = data.figures[name];
    if (name !== "timeline") return spec;
    const line = data.timelines[document.getElementById("trial").value];
    const datasets = unfolded(line, width);
    const [first, ...others] = structuredClone(spec).vconcat;
    const rows = others.filter((row) => datasets[row.layer[1].data.name].length);
    const hosts = [...new Set(["rate", "cpu", "network"].flatMap((row) => Object.keys(line.rows[row] || {})))];
    for (const row of rows) {
      const { encoding, data: { name: own } } = row.layer[1];
      encoding.y.scale = { domainMin: 0, domainMax: 1.06 * (highest(datasets[own], own === "watts") || 1), nice: false };
      if (own === "watts") continue;
      for (const channel of ["color", "strokeDash"]) encoding[channel].scale.domain = hosts;
      encoding.color.legend.values = hosts.filter((host) => host in line.rows[own]);
      encoding.strokeDash.legend = encoding.color.legend;
    }
    for (const row of rows.slice(-1)) row.layer[1].encoding.x = others.at(-1).layer[1].encoding.x;
    return { ...spec, vconcat: [...(datasets.phases.length && rows.length ? [first] : []), ...rows], datasets };
  };
  const highest = (rows, stacked) => {
    const sums = new Map();
    for (const { t, value } of rows) sums.set(t, stacked ? (sums.get(t) || 0) + value : Math.max(sums.get(t) || 0, value));
    return Math.max(0, ...sums.values());
  };
  const draw = async (name) => {
    const place = document.querySelector(`#${name} .drawing`);
    const options = { actions: false, renderer: "svg", ast: true, config: data.themes[theme()], tooltip: { theme: theme() } };
    await embedded(place, complete(name, place.clientWidth), place.clientWidth, options);
    for (const one of place.querySelectorAll("svg [role=graphics-symbol]:not([aria-label])"))
      for (const attribute of ["role", "aria-roledescription"]) one.removeAttribute(attribute);  // Vega names only marks that have values
    place.dataset.drawn = theme();
  };
  const drawAll = async () => {
    for (const name of Object.keys(data.figures)) {
      try { await draw(name); } catch (error) {  // one figure that fails must not take the others away
        document.querySelector(`#${name} .drawing`).textContent = `this figure could not be drawn: ${error.message}`;
        console.error(error);
      }
    }
    root.dataset.drawn = theme();
  };

  const download = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${data.name}-${name}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  // What a figure draws, as one table: the rows of each mark below each other.
  const table = (name) => {
    const spec = complete(name, PRINTED), sets = new Map();
    each(spec, ({ data: own }) => own?.values && sets.set(JSON.stringify(own.values), own.values));
    const rows = [...sets.values(), ...Object.values(spec.datasets || {})].flat().filter((row) => Object.keys(row).length);
    const heads = [...new Set(rows.flatMap(Object.keys))];
    const cell = (value) => {  // marked as perjoule.machine.spreadsheets does
      const text = typeof value === "string" && /^[=+\-@\t\r\n'＝＋－＠]/.test(value) ? `'${value}` : String(value ?? "");
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [heads, ...rows.map((row) => heads.map((head) => row[head]))].map((line) => line.map(cell).join(",") + "\n").join("");
  };
  const save = async (name) => {
    const aside = document.createElement("div");
    const drawn = await embedded(aside, complete(name, PRINTED), PRINTED, { actions: false, renderer: "svg", ast: true, config: data.themes.light });
    download(`${name}.svg`, "image/svg+xml", await drawn.view.toSVG());
    drawn.finalize();
  };

  // Says of a table that does not fit how many columns are out of sight.
  const hint = (box) => {
    const wide = box.parentElement, edge = box.getBoundingClientRect().right;
    const hidden = [...box.querySelectorAll("th")].filter((head) => head.getBoundingClientRect().right > edge + 2).length;
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    const left = box.scrollLeft > 2;
    wide.toggleAttribute("data-cut", hidden > 0);
    if (!scrolls) delete wide.dataset.more;
    else wide.dataset.more = hidden ? `${hidden} more column${hidden > 1 ? "s" : ""}: scroll right →` : left ? "← scroll left" : "";
    wide.style.setProperty("--shade", `${box.offsetHeight - 2}px`);
  };
  const hintAll = () => document.querySelectorAll(".scroll").forEach(hint);
  for (const box of document.querySelectorAll(".scroll")) box.addEventListener("scroll", () => hint(box), { passive: true });
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", () => fold.querySelectorAll(".scroll").forEach(hint));

  // A phone shows the first columns: numbers before what also stands above the table.
  if (innerWidth < NARROW) for (const { rows } of document.querySelectorAll("main table")) {
    const index = [...rows[0].cells].findIndex((head) => head.textContent.trim() === "redundancy");
    if (index > 0) for (const row of rows) row.append(row.cells[index]);
    for (const cell of [...rows].flatMap((row) => [...row.querySelectorAll("td:not(.word)")])) {
      if (!cell.firstElementChild) cell.textContent = cell.textContent.trim().replace(/ \(/, "\n(").replace(/\) /, ")\n");  // a range below its number
    }
  }

  const number = (text) => { const found = parseFloat(text.replace("–", "")); return Number.isNaN(found) ? -Infinity : found; };
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("th").forEach((head, index) => head.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const text = (row) => row.cells[index].textContent;
      const word = head.classList.contains("word");
      const rows = [...body.rows].sort((a, b) => (word ? text(a).localeCompare(text(b)) : number(text(a)) - number(text(b))) * (up ? 1 : -1));
      body.append(...rows);
    }));
  }
  for (const button of document.querySelectorAll("button[data-save]")) button.addEventListener("click", () => save(button.dataset.save));
  for (const button of document.querySelectorAll("button[data-table]")) button.addEventListener("click", () => download(`${button.dataset.table}.csv`, "text/csv", table(button.dataset.table)));
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    try { localStorage.setItem("perjoule-theme", root.dataset.theme); } catch { /* a file opened without storage */ }
    drawAll();
  });
  const trial = document.getElementById("trial");
  if (trial) {
    const raw = document.getElementById("files");
    const chosen = () => { raw.href = trial.selectedOptions[0].dataset.folder; };
    trial.addEventListener("change", () => { chosen(); draw("timeline"); });
    chosen();
  }
  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    hintAll();
    waiting = setTimeout(drawAll, 150);
  });
  hintAll();
  drawAll();
})();
