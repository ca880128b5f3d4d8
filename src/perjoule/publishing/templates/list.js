const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
root.dataset.theme = dark ? "dark" : "light";
document.getElementById("theme").onclick = () => (root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark");
const filters = document.getElementById("filters");
if (filters) {
  filters.hidden = false;
  const chosen = [...filters.querySelectorAll("[data-filter]")];
  const apply = () => {
    const words = chosen.find((one) => one.dataset.filter === "text").value.toLowerCase();
    let shown = 0;
    for (const row of document.querySelectorAll("#results tbody tr")) {
      const fits = chosen.every((one) => one.dataset.filter === "text" || !one.value || row.dataset[one.dataset.filter] === one.value);
      row.hidden = !fits || !row.dataset.text.toLowerCase().includes(words);
      shown += !row.hidden;
    }
    document.getElementById("none").hidden = shown > 0;
  };
  for (const one of chosen) one.oninput = one.onchange = apply; // some programs that act for a user send one of the two
  apply();
}
// A column sorts by a click: numbers, and ranks by their number, else words.
const value = (row, column) => {
  const cell = row.cells[column], number = parseFloat(cell.dataset.value ?? cell.textContent);
  return cell.classList.contains("word") || Number.isNaN(number) ? cell.textContent.trim() : number;
};
for (const [column, head] of [...document.querySelectorAll("#results th")].entries())
  head.firstChild.onclick = () => {
    const up = head.getAttribute("aria-sort") !== "ascending", body = document.querySelector("#results tbody");
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b));
    body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * compare(value(a, column), value(b, column))));
  };
const hint = () => {
  for (const box of document.querySelectorAll(".wide > .scroll"))
    if (box.scrollWidth > box.clientWidth + 1) box.parentElement.dataset.more = "more columns: scroll right →";
    else delete box.parentElement.dataset.more;
};
for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", hint);
addEventListener("resize", hint);
