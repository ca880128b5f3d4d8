const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
root.dataset.theme = dark ? "dark" : "light";
document.getElementById("theme").onclick = () => (root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark");
const filters = document.getElementById("filters");
if (filters) {
  filters.hidden = false;
  const chosen = [...filters.querySelectorAll("[data-filter]")];
  const apply = () => {
    let shown = 0;
    for (const group of document.querySelectorAll(".group")) {
      const fits = chosen.every((one) => one.dataset.filter === "text" || !one.value || group.dataset[one.dataset.filter] === one.value);
      const words = chosen.find((one) => one.dataset.filter === "text").value.toLowerCase();
      let rows = 0;
      for (const row of group.querySelectorAll("tbody tr")) {
        row.hidden = !row.dataset.text.toLowerCase().includes(words);
        rows += !row.hidden;
      }
      group.hidden = !fits || !rows;
      shown += !group.hidden;
    }
    document.getElementById("none").hidden = shown > 0;
  };
  for (const one of chosen) one.oninput = one.onchange = apply; // some programs that act for a user send one of the two
  apply();
}
const hint = () => {
  for (const box of document.querySelectorAll(".wide > .scroll"))
    if (box.scrollWidth > box.clientWidth + 1) box.parentElement.dataset.more = "more columns: scroll right →";
    else delete box.parentElement.dataset.more;
};
for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", hint);
addEventListener("resize", hint);
