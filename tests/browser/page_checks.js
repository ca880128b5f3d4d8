// What a machine can see of a page, each as a list of complaints. Run by tests/chromium.py.
(() => {
  const shown = (one) => one.checkVisibility() && one.getClientRects().length > 0;
  const words = (one) => `${one.tagName.toLowerCase()} "${(one.textContent || "").trim().slice(0, 40)}"`;
  const parse = (colour) => {
    const found = colour.match(/[\d.]+/g);
    return found && !(found.length === 4 && +found[3] === 0) ? found.slice(0, 3).map(Number) : null;
  };
  const luminance = (rgb) => rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) { const found = parse(getComputedStyle(at).backgroundColor); if (found) return found; }
    return [255, 255, 255];
  };
  const texts = () => [...document.querySelectorAll("main *:not(svg *)")].filter(
    (one) => shown(one) && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  const labels = (svg) => [...svg.querySelectorAll("text")].filter((one) => one.textContent.trim() && one.getAttribute("opacity") !== "0");

  return {
    clipped() {
      const found = [], wide = document.documentElement.clientWidth;
      for (const one of document.querySelectorAll("main *:not(svg *)")) {
        if (!shown(one) || one.scrollWidth <= one.clientWidth + 1 || getComputedStyle(one).overflowX === "visible") continue;
        const box = one.closest(".wide");
        if (one.matches(".scroll") ? !box?.dataset.more : !one.matches("pre, select")) found.push(`cut without a hint: ${words(one)}`);
      }
      for (const one of texts()) {
        if (one.closest(".scroll, pre, select")) continue;
        const { left, right } = one.getBoundingClientRect();
        if (right > wide + 1 || left < -1) found.push(`beside the page: ${words(one)}`);
      }
      for (const svg of document.querySelectorAll("figure svg")) {
        const frame = svg.getBoundingClientRect(), figure = svg.closest("figure").id;
        if (frame.width < +svg.viewBox.baseVal.width * 0.98) found.push(`${figure}: shrunk to ${Math.round(frame.width)} px`);
        for (const one of labels(svg)) {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          if (left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 1 || bottom > frame.bottom + 1) found.push(`${figure}: cut ${words(one)}`);
          if (one.textContent.includes("…")) found.push(`${figure}: not in full: ${words(one)}`);
        }
      }
      return found;
    },
    overlaps() {
      const found = [];
      for (const svg of document.querySelectorAll("figure svg")) {
        const all = labels(svg).map((one) => [one, one.getBoundingClientRect()]);
        all.forEach(([one, a], n) => all.slice(n + 1).forEach(([other, b]) => {
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (across > 1 && down > 3) found.push(`${svg.closest("figure").id}: ${words(one)} over ${words(other)}`);
        }));
      }
      return found;
    },
    pale() {
      const found = [];
      for (const one of texts()) {
        const style = getComputedStyle(one), size = parseFloat(style.fontSize);
        const least = size >= 24 || (size >= 18.6 && +style.fontWeight >= 700) ? 3 : 4.5;
        if (contrast(parse(style.color), behind(one)) < least) found.push(`${words(one)}: ${contrast(parse(style.color), behind(one)).toFixed(2)}`);
      }
      for (const svg of document.querySelectorAll("figure svg")) for (const one of labels(svg)) {
        const fill = parse(getComputedStyle(one).fill);
        if (fill && contrast(fill, behind(svg)) < 4.5) found.push(`${svg.closest("figure").id}: ${words(one)}: ${contrast(fill, behind(svg)).toFixed(2)}`);
      }
      return found;
    },
    outside(names) {
      const found = [];
      for (const name of names) for (const back of document.querySelectorAll(`#${name} svg .role-scope > g > path.background`)) {
        const frame = back.getBoundingClientRect();
        for (const mark of back.parentElement.querySelectorAll(".role-mark.mark-symbol path, .role-mark.mark-rule line")) {
          const { left, right, top, bottom } = mark.getBoundingClientRect(), middle = [(left + right) / 2, (top + bottom) / 2];
          if (mark.tagName === "line" ? top < frame.top - 1 || bottom > frame.bottom + 1
            : middle[0] < frame.left - 1 || middle[0] > frame.right + 1 || middle[1] < frame.top - 1 || middle[1] > frame.bottom + 1) found.push(`${name}: a mark at ${middle}`);
        }
      }
      return found;
    },
    // The rules of axe-core that such a page can break: its names are in parentheses.
    inaccessible() {
      const found = [], ids = [...document.querySelectorAll("[id]:not(svg *)")].map((one) => one.id);
      if (!document.documentElement.lang) found.push("(html-has-lang)");
      if (!document.title.trim()) found.push("(document-title)");
      if (document.querySelectorAll("main").length !== 1) found.push("(landmark-one-main)");
      if (document.querySelectorAll("h1").length !== 1) found.push("(page-has-heading-one)");
      if (/user-scalable=no|maximum-scale=1/.test(document.querySelector("meta[name=viewport]")?.content || "no")) found.push("(meta-viewport)");
      for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push(`(duplicate-id) ${id}`);
      let level = 1;
      for (const one of document.querySelectorAll("h1, h2, h3, h4")) { const own = +one.tagName[1]; if (own > level + 1) found.push(`(heading-order) ${words(one)}`); level = own; }
      for (const one of document.querySelectorAll("button, a[href], select, summary")) {
        const name = one.getAttribute("aria-label") || (one.tagName === "SELECT" ? [...one.labels].map((label) => label.firstChild.textContent).join("").trim() : one.textContent.trim());
        if (!name) found.push(`(button-name, link-name, select-name) ${one.outerHTML.slice(0, 60)}`);
      }
      for (const svg of document.querySelectorAll("figure svg")) if (!svg.closest("figure [aria-label]")) found.push(`(svg-img-alt) ${svg.closest("figure").id}`);
      for (const one of document.querySelectorAll("main *:not(svg *)")) if (shown(one) && one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX) && one.tabIndex < 0) found.push(`(scrollable-region-focusable) ${words(one)}`);
      for (const one of document.querySelectorAll("[tabindex]")) if (one.tabIndex > 0) found.push(`(tabindex) ${words(one)}`);
      for (const one of document.querySelectorAll("ul, ol")) for (const child of one.children) if (child.tagName !== "LI") found.push(`(list) ${words(child)}`);
      for (const one of document.querySelectorAll("th")) if (!one.scope || !one.textContent.trim()) found.push(`(th-has-data-cells, empty-table-header) ${words(one)}`);
      for (const one of document.querySelectorAll("[role=region]")) if (!one.getAttribute("aria-label")) found.push("(region)");
      for (const one of document.querySelectorAll('a[href^="#"]')) if (!document.getElementById(one.getAttribute("href").slice(1))) found.push(`(skip-link) ${one.getAttribute("href")}`);
      return found;
    },
  };
})()
