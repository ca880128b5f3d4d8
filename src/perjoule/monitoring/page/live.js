"use strict";
// Shows a snapshot of a run every two seconds. All of it is text, and all of it comes from the server of this page.
(() => {
  const EVERY_MS = 2000, PATIENCE_MS = 8000, SPAN_S = 300;
  const COLUMN = 420, GAP = 12, SIDES = 30;  // px, as in live.css: a chart at least, between two, and of a chart's frame
  const HEIGHT = 150, LEFT = 46, BOTTOM = 20, TOP = 8;
  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const token = new URLSearchParams(location.search).get("token") || "";
  let waiting = 0, asking = false, answered = "";

  const stored = (() => { try { return localStorage.getItem("perjoule-theme"); } catch { return null; } })();
  root.dataset.theme = stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  at("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("perjoule-theme", root.dataset.theme); } catch { /* a browser without storage */ }
  });

  const made = (name, text = "", type = "") => {
    const one = document.createElement(name);
    one.textContent = text;
    if (type) one.className = type;
    return one;
  };
  const drawn = (name, attributes, text = "") => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    one.textContent = text;
    return one;
  };
  const number = (value) => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

  // Says of a table that does not fit how many columns are out of sight, as a report does.
  const hint = (box) => {
    const edge = box.getBoundingClientRect().right;
    const hidden = [...box.querySelectorAll("th")].filter((head) => head.getBoundingClientRect().right > edge + 2).length;
    if (box.scrollWidth <= box.clientWidth + 1) delete box.parentElement.dataset.more;
    else box.parentElement.dataset.more = hidden ? `${hidden} more column${hidden > 1 ? "s" : ""}: scroll right →` : "← scroll left";
  };
  const hintAll = () => document.querySelectorAll(".scroll").forEach(hint);
  for (const box of document.querySelectorAll(".scroll")) box.addEventListener("scroll", () => hint(box), { passive: true });
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", hintAll);
  addEventListener("resize", hintAll);

  const grid = (rows) => {
    const whole = made("table"), head = whole.createTHead().insertRow(), body = whole.createTBody();
    const words = rows.headers.map((text) => rows.words.includes(text));
    rows.headers.forEach((text, n) => { const cell = made("th", text, words[n] ? "word" : ""); cell.scope = "col"; head.append(cell); });
    for (const row of rows.rows) {
      const line = body.insertRow();
      row.forEach((text, n) => line.append(made("td", text, words[n] ? "word" : "")));
    }
    return whole;
  };
  const table = (id, rows) => {
    at(id).hidden = !rows.rows.length;
    at(id).querySelector(".scroll").replaceChildren(grid(rows));
    hint(at(id).querySelector(".scroll"));
  };
  // What the report's sections have: drawn again only when a trial was kept, so that whoever reads one keeps their place.
  let drawnParts = "";
  const sections = (parts) => {
    const text = JSON.stringify(parts);
    if (text === drawnParts) return;
    drawnParts = text;
    at("parts").replaceChildren(...parts.map((part) => {
      const section = made("section");
      section.append(made("h2", part.title));
      if (part.intro) section.append(made("p", part.intro));
      for (const [name, rows, note] of part.tables) {
        const wide = made("div", "", "wide"), scroll = made("div", "", "scroll");
        scroll.tabIndex = 0;
        scroll.setAttribute("role", "region");
        scroll.setAttribute("aria-label", name);
        scroll.append(grid(rows));
        scroll.addEventListener("scroll", () => hint(scroll), { passive: true });
        wide.append(scroll);
        section.append(wide);
        if (note) section.append(made("p", note, "quiet"));
      }
      const lines = made("ul");
      lines.append(...part.lines.map((line) => made("li", line)));
      if (part.lines.length) section.append(lines);
      return section;
    }));
    hintAll();
  };
  const list = (id, items) => {
    at(id).hidden = !items.length;
    at(id).querySelector("ul").replaceChildren(...items);
  };

  // The top of an axis: 1, 2 or 5 times a power of ten.
  const ceiling = (value) => {
    const power = 10 ** Math.floor(Math.log10(value || 1));
    return [1, 2, 5, 10].map((n) => n * power).find((top) => top >= value) || 1;
  };
  const chart = (one, times) => {
    const room = at("charts").clientWidth, across = room < 2 * COLUMN + GAP ? 1 : 2;
    const WIDTH = Math.floor((room - (across - 1) * GAP) / across) - SIDES;  // drawn in full size: text must not shrink
    const names = Object.keys(one.lines);
    const most = ceiling(1.04 * Math.max(0, ...Object.values(one.lines).flat().map((value) => value ?? 0)));
    const x = (t) => LEFT + (WIDTH - LEFT - 8) * (1 + Math.max(t, -SPAN_S) / SPAN_S);
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
    const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${one.title} in ${one.unit}, last 5 minutes` });
    for (const part of [0, 0.5, 1]) {
      svg.append(drawn("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(part * most), y2: y(part * most) }));
      svg.append(drawn("text", { x: LEFT - 6, y: y(part * most) + 4, "text-anchor": "end" }, String(+(part * most).toPrecision(3))));
    }
    for (const minutes of innerWidth < 640 ? [5, 3, 1, 0] : [5, 4, 3, 2, 1, 0]) {
      const anchor = minutes === 5 ? "start" : minutes ? "middle" : "end";
      svg.append(drawn("text", { x: x(-60 * minutes), y: HEIGHT - 4, "text-anchor": anchor }, minutes ? `−${minutes} min` : "now"));
    }
    const legend = made("ul");
    names.forEach((name, n) => {
      let path = "", before = false;
      one.lines[name].forEach((value, i) => {
        if (value !== null) path += `${before ? "L" : "M"}${x(times[i]).toFixed(1)} ${y(value).toFixed(1)}`;
        before = value !== null;
      });
      const dashes = ["none", "6 3", "2 3"][n % 3];
      const style = `stroke: var(--c${n % 7}); stroke-dasharray: ${dashes}`;
      svg.append(drawn("path", { d: path, style }));
      const item = made("li"), swatch = drawn("svg", { viewBox: "0 0 24 8", width: 24, height: 8, "aria-hidden": "true" });
      swatch.style.width = "24px";
      swatch.append(drawn("path", { d: "M1 4H23", style }));
      const last = one.lines[name].findLast((value) => value !== null);
      item.append(swatch, made("span", `${name} ${last === undefined ? "" : number(last)}`));
      legend.append(item);
    });
    const figure = made("figure"), caption = made("figcaption", `${one.title} `);
    caption.append(made("small", one.unit));
    figure.append(caption, svg, legend);
    return figure;
  };

  const show = (now) => {
    root.dataset.state = now.state;
    document.title = `${now.kept_count}/${now.trials_count || "?"} ${now.name}: perjoule`;
    at("name").textContent = now.name;
    at("said").textContent = now.state === "running" ? `running: ${now.said}` : now.said;
    at("mark").textContent = now.mark;
    at("trial").replaceChildren(now.trial, ...(now.phase ? [made("span", `  ${now.phase}, ${Math.round(now.phase_s + now.age_s)} s`)] : []));
    at("rate").textContent = now.rate || "–";
    at("watts").textContent = now.watts || "–";
    at("grade").textContent = now.grade;
    at("others").replaceChildren(...now.others.map((text) => made("span", text)));
    const failed = now.measured.failed_count ? `, ${now.measured.failed_count} failed` : "";
    at("count").textContent = now.trials_count ? `${now.kept_count} of ${now.trials_count}${failed}` : `${now.kept_count}${failed}`;
    at("bar").max = now.trials_count || 1;
    at("bar").value = now.trials_count ? now.kept_count : 0;
    at("left").textContent = now.state === "running" && now.left ? `about ${now.left}` : "–";
    at("charts").replaceChildren(...now.charts.map((one) => chart(one, now.times_s)));
    const own = now.doubts.filter((text) => !now.measured.doubts.includes(text));  // a trial that was just kept has them in both
    list("doubts", [...own.map((text) => made("li", `this trial: ${text}`)), ...now.measured.doubts.map((text) => made("li", text))]);
    table("results", now.measured.results);
    sections(now.measured.parts);
    list("last", now.measured.last.map(([trial, text, failed]) => made("li", `${trial}: ${failed ? "failed: " : ""}${text}`, failed ? "bad" : "")));
    table("hosts", now.hosts);
    table("meters", now.meters);
    list("notes", [...now.measured.notes, ...now.notes].map((text) => made("li", text)));
    at("folder").textContent = now.measured.report ? `${now.folder}/report.html is the report.` : now.folder;
  };

  const ask = async () => {
    clearTimeout(waiting);
    if (asking) return;
    asking = true;
    try {
      const answer = await fetch(`data?token=${encodeURIComponent(token)}`, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) throw new Error(await answer.text());
      show(await answer.json());
      answered = new Date().toLocaleTimeString();
      root.dataset.answered = Number(root.dataset.answered || 0) + 1;
    } catch {
      root.dataset.state = "lost";
      const since = answered ? `no answer since ${answered}; below is what was known then` : "no answer";
      at("said").textContent = `${since}. The run, or perjoule watch, has ended; if it is started again, this page shows it.`;
    } finally {
      asking = false;
      waiting = setTimeout(ask, EVERY_MS);
    }
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  addEventListener("online", ask);
  ask();
})();
