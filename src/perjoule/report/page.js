"use strict";
// Draws the figures of the report (Vega-Lite), fits them to the page, and saves them. Needs nothing from outside.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const AXIS = 58, GAP = 24, NARROW = 640;

  const theme = () => root.dataset.theme;
  const stored = (() => { try { return localStorage.getItem("perjoule-theme"); } catch { return null; } })();
  root.dataset.theme = stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  // As perjoule.figures.timeline.datasets does: columns to rows of data.
  const unfolded = (line) => {
    const phases = Object.entries(line.phases);
    const whole = Math.max(0, ...phases.map(([, [, end]]) => end)) - Math.min(0, ...phases.map(([, [begin]]) => begin));
    const found = {
      window: [{ begin: 0, end: line.duration_s }],
      phases: phases.map(([name, [begin, end]]) => ({ begin, name, label: end - begin > 0.08 * whole ? name : "" })),
      marks: Object.entries(line.marks).map(([name, t]) => ({ t, name })),
    };
    for (const row of ["rate", "watts", "cpu", "network"]) {
      found[row] = [];
      for (const [name, values] of Object.entries(line.rows[row] || {}))
        values.forEach((value, i) => { if (value !== null) found[row].push({ t: line.t_s[i], name, value }); });
    }
    return found;
  };

  const axisWidth = (panel) => panel.encoding?.y?.axis?.minExtent ? panel.encoding.y.axis.minExtent + 12 : AXIS;
  const fitted = (spec, width) => {
    const copy = structuredClone(spec);
    const narrow = width < NARROW;
    if (copy.concat) {
      copy.columns = narrow ? 1 : 2;
      const columns = Math.min(copy.columns, copy.concat.length);
      for (const panel of copy.concat) panel.width = Math.floor((width - (columns - 1) * GAP) / columns - axisWidth(panel) - 14);
    } else if (copy.vconcat) {
      for (const panel of copy.vconcat) {
        panel.width = width - AXIS - 20;
        const legend = panel.layer[1].encoding.color?.legend;
        if (legend) legend.columns = narrow ? 3 : 6;
      }
    } else copy.width = narrow ? width - 170 : width - 230;
    if (narrow && copy.title?.subtitle) copy.title.subtitle = copy.title.subtitle.flatMap((line) => wrapped(line, Math.floor(width / 6)));
    return copy;
  };
  const wrapped = (line, most) => line.split(" ").reduce((lines, word) => {
    const last = lines.length - 1;
    if (last >= 0 && (lines[last] + " " + word).length <= most) lines[last] += " " + word; else lines.push(word);
    return lines;
  }, []);

  // As perjoule.figures.timeline.completed does: the rows of the picture that have data, the last with the axis of time.
  const complete = (name) => {
    const spec = data.figures[name];
    if (name !== "timeline") return spec;
    const datasets = unfolded(data.timelines[document.getElementById("trial").value]);
    const whole = structuredClone(spec).vconcat;
    const rows = whole.filter((row) => datasets[row.layer[1].data.name].length);
    for (const row of rows.slice(-1)) row.layer[1].encoding.x = whole.at(-1).layer[1].encoding.x;
    return { ...spec, vconcat: rows, datasets };
  };
  const draw = async (name) => {
    const place = document.querySelector(`#${name} .drawing`);
    const options = { actions: false, renderer: "svg", config: data.themes[theme()], tooltip: { theme: theme() } };
    await vegaEmbed(place, fitted(complete(name), place.clientWidth), options);
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

  const save = async (name) => {
    const aside = document.createElement("div");
    const drawn = await vegaEmbed(aside, complete(name), { actions: false, renderer: "svg", config: data.themes.light });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await drawn.view.toSVG()], { type: "image/svg+xml" }));
    link.download = `${data.name}-${name}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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
