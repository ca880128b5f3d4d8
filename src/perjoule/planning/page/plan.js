"use strict";
// Draws the front as points, and computes money and carbon again for the sliders. Needs nothing from outside.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const HEIGHT = 430, LEFT = 66, RIGHT = 28, TOP = 16, BOTTOM = 46;
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);
  const stored = (() => { try { return localStorage.getItem("perjoule-theme"); } catch { return null; } })();
  root.dataset.theme = stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  at("theme").onclick = () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("perjoule-theme", root.dataset.theme); } catch { /* a page from disk may have no storage */ }
    draw();
  };

  // Says of a table that does not fit how many columns are out of sight.
  const hint = (box) => {
    const edge = box.getBoundingClientRect().right;
    const hidden = [...box.querySelectorAll("th")].filter((head) => head.getBoundingClientRect().right > edge + 2).length;
    const wide = box.parentElement;
    wide.toggleAttribute("data-cut", hidden > 0);
    if (box.scrollWidth <= box.clientWidth + 1) delete wide.dataset.more;
    else wide.dataset.more = hidden ? `${hidden} more column${hidden > 1 ? "s" : ""}: scroll right →` : "← scroll left";
    wide.style.setProperty("--shade", `${box.offsetHeight - 2}px`);
  };
  const boxes = [...document.querySelectorAll(".scroll")];
  for (const box of boxes) box.addEventListener("scroll", () => hint(box), { passive: true });
  for (const one of document.querySelectorAll("details")) one.addEventListener("toggle", () => boxes.forEach(hint));

  let chosen = null;
  // As perjoule.planning.outcome does: what is bought and built, and what the energy costs and emits on top.
  const value = (row, name, end = 0) => {
    const { field, per } = data.axes[name], of = (key) => row.values[key][end];
    const energy = () => of(data.axes.energy.field);
    if (end === 0 && name === "money") return (of(data.axes.purchase.field) + energy() * price()) / per;
    if (end === 0 && name === "carbon") return (of(data.axes.embodied.field) + energy() * carbon()) / per;
    return of(field) / per;
  };
  const { electricity, grid } = data.sliders, moved = { electricity: false, grid: false };
  const price = () => (moved.electricity ? at("electricity").value * electricity.per : electricity.value);
  const carbon = () => (moved.grid ? at("grid").value * grid.per : grid.value);
  // What a slider has changed since the bands and the picks were computed.
  const stale = (name) => (name === "money" && moved.electricity) || (name === "carbon" && moved.grid) || (name === "least regret" && (moved.electricity || moved.grid));
  const picks = (row) => row.picks.filter((name) => !stale(name));
  const AIMS = data.aims;
  const onFront = (rows) => {
    const points = rows.map((row) => [...AIMS.map((name) => value(row, name)), -value(row, "throughput")]);
    return points.map((own) => !points.some((other) => other.every((v, n) => v <= own[n]) && other.some((v, n) => v < own[n])));
  };

  const text = (number) => (number >= 1000 ? Math.round(+number.toPrecision(3)).toString().replace(/\B(?=(\d{3})+$)/g, " ") : String(+number.toPrecision(3)));
  const ticks = (low, high, most) => {
    const all = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) for (const digit of [1, 2, 5]) all.push(digit * 10 ** e);
    let inside = all.filter((one) => one >= low && one <= high);
    if (inside.length < 2) inside = [...new Set([0.15, 0.5, 0.85].map((share) => +(low * (high / low) ** share).toPrecision(2)))].filter((one) => one >= low && one <= high);
    return inside.filter((_, n) => n % Math.ceil(inside.length / most) === 0);
  };
  const element = (parent, name, attributes, words) => {
    const one = document.createElementNS(SVG, name);
    for (const [key, v] of Object.entries(attributes)) one.setAttribute(key, v);
    if (words !== undefined) one.textContent = words;
    parent.append(one);
    return one;
  };

  const draw = () => {
    if (!data.rows.length) return;
    const place = document.querySelector("#scatter .drawing"), width = place.clientWidth;
    const x = at("x").value, y = at("y").value, colours = data.colours[root.dataset.theme];
    const shown = data.rows.filter((row) => (!at("server").value || row.server === at("server").value) && (!at("filesystem").value || row.filesystem === at("filesystem").value));
    const scale = (name, from, to) => {
      const all = data.rows.map((row) => value(row, name)).filter((v) => v > 0);
      const low = Math.min(...all) / 1.12, high = Math.max(...all) * 1.12;
      const map = (v) => from + (to - from) * Math.min(1, Math.max(0, Math.log(v / low) / Math.log(high / low)));
      return { map, low, high };
    };
    const across = scale(x, LEFT, width - RIGHT), up = scale(y, HEIGHT - BOTTOM, TOP);
    place.replaceChildren();
    const svg = element(place, "svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT });
    for (const tick of ticks(across.low, across.high, Math.max(2, Math.floor(width / 110)))) {
      element(svg, "line", { class: "axis", x1: across.map(tick), x2: across.map(tick), y1: TOP, y2: HEIGHT - BOTTOM });
      element(svg, "text", { x: across.map(tick), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, text(tick));
    }
    for (const tick of ticks(up.low, up.high, 8)) {
      element(svg, "line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: up.map(tick), y2: up.map(tick) });
      element(svg, "text", { x: LEFT - 8, y: up.map(tick) + 4, "text-anchor": "end" }, text(tick));
    }
    element(svg, "text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, data.axes[x].label);
    element(svg, "text", { x: 0, y: 0, transform: `translate(13 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)`, "text-anchor": "middle" }, data.axes[y].label);
    const kept = onFront(shown);
    shown.forEach((row, n) => {
      const point = element(svg, "circle", { class: `point${kept[n] ? "" : " off"}${row.id === chosen ? " chosen" : ""}`, cx: across.map(value(row, x)), cy: up.map(value(row, y)), r: picks(row).length ? 7 : 4.5, fill: colours[data.filesystems.indexOf(row.filesystem) % colours.length], "data-id": row.id });
      element(point, "title", {}, `candidate ${row.id}: ${row.text}`);
      point.addEventListener("click", () => choose(row.id));
    });
    const picked = shown.find((row) => row.id === chosen);
    if (picked) {
      const cx = across.map(value(picked, x)), cy = up.map(value(picked, y));
      if (!stale(x)) element(svg, "line", { class: "band", x1: across.map(value(picked, x, 1)), x2: across.map(value(picked, x, 2)), y1: cy, y2: cy });
      if (!stale(y)) element(svg, "line", { class: "band", x1: cx, x2: cx, y1: up.map(value(picked, y, 1)), y2: up.map(value(picked, y, 2)) });
    }
    label(svg, shown.filter((row) => picks(row).length), (row) => [across.map(value(row, x)), up.map(value(row, y))], width);
    const legend = document.createElement("div");
    legend.className = "legend";
    for (const [n, name] of data.filesystems.entries()) {
      const item = document.createElement("span"), dot = document.createElement("i");
      dot.style.background = colours[n % colours.length];
      item.append(dot, name);
      legend.append(item);
    }
    place.append(legend);
    at("electricity-now").textContent = `${(price() / electricity.per).toFixed(2)} ${electricity.unit}`;
    at("grid-now").textContent = `${Math.round(carbon() / grid.per)} ${grid.unit}`;
    const sound = shown.filter((row) => !row.contradicted); // a measurement is worth more than a prediction
    at("best").textContent = sound.length
      ? AIMS.map((name) => { const best = sound.reduce((a, b) => (value(b, name) < value(a, name) ? b : a)); return `Least ${name}: candidate ${best.id} (${text(value(best, name))} ${data.axes[name].label.split(" ")[0]}), ${best.text}.`; }).join(" ")
      : shown.length ? "A measurement contradicts every candidate of the front that has these." : "No candidate of the front has these.";
    describe();
    root.dataset.drawn = root.dataset.theme;
  };
  // Names of the picks beside, above or below their points, where they lie over nothing; others stay in the points' titles.
  const label = (svg, rows, where, width) => {
    const taken = [...svg.querySelectorAll(".point")].map((one) => one.getBBox());
    const over = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    for (const row of rows) {
      const [cx, cy] = where(row);
      const one = element(svg, "text", { class: "name" }, `${row.id}: ${picks(row).join(", ")}`);
      const free = [[11, 4, "start"], [-11, 4, "end"], [0, -12, "middle"], [0, 21, "middle"], [8, -10, "start"], [8, 19, "start"]].find(([dx, dy, anchor]) => {
        for (const [key, v] of Object.entries({ x: cx + dx, y: cy + dy, "text-anchor": anchor })) one.setAttribute(key, v);
        const box = one.getBBox();
        return box.x >= LEFT && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= HEIGHT - BOTTOM && !taken.some((other) => over(box, other));
      });
      if (free) taken.push(one.getBBox()); else one.remove();
    }
  };
  // The candidate that was clicked; its lines have the prices of the need, so those of the sliders follow.
  const describe = () => {
    const row = data.rows.find((one) => one.id === chosen), lines = row ? [`Candidate ${row.id}`, ...row.about] : [];
    if (row && (moved.electricity || moved.grid)) {
      const now = ["money", "carbon"].map((name) => `${text(value(row, name))} ${data.axes[name].label}`).join(", ");
      lines.push(`at ${at("electricity-now").textContent} and ${at("grid-now").textContent}, as the sliders are: ${now}`);
    }
    at("chosen").replaceChildren(...lines.map((line, n) => {
      const one = document.createElement(n ? "p" : "b");
      one.textContent = line;
      return one;
    }));
  };
  const choose = (id) => {
    chosen = chosen === id ? null : id;
    draw();
  };
  if (data.rows.length) {
    at("electricity").value = electricity.value / electricity.per;
    at("grid").value = grid.value / grid.per;
    for (const id of ["x", "y", "server", "filesystem"]) at(id).onchange = draw;
    for (const id of ["electricity", "grid"]) at(id).oninput = () => { moved[id] = true; draw(); };
    draw();
  } else root.dataset.drawn = root.dataset.theme;
  boxes.forEach(hint);
  addEventListener("resize", () => { draw(); boxes.forEach(hint); });
})();
