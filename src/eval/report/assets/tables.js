// Tables: clicking a column heading sorts by it; a second click reverses the order.
(function () {
  function key(cell) {
    if (!cell.hasAttribute("data-value")) return cell.textContent.toLowerCase();
    const value = cell.getAttribute("data-value");
    return value === "" ? null : Number(value);
  }

  function compare(one, other) {
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), undefined, { numeric: true });
  }

  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row, place) => ({ row, place, key: key(row.cells[column]) }));
    rows.sort((a, b) => {
      // Missing values come last in either direction.
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      return (descending ? -1 : 1) * compare(a.key, b.key) || a.place - b.place;
    });
    body.append(...rows.map((entry) => entry.row));
  }

  for (const button of document.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(head.closest("table"), head.cellIndex, descending);
    });
  }

  for (const input of document.querySelectorAll("input[data-table]")) {
    const rows = Array.from(document.getElementById(input.dataset.table).tBodies[0].rows);
    const texts = rows.map((row) => Array.from(row.cells, (c) => c.textContent).join(" ").toLowerCase());
    const output = input.parentElement.querySelector("output");
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, place) => {
        row.hidden = !wanted.every((word) => texts[place].includes(word));
        shown += row.hidden ? 0 : 1;
      });
      output.textContent = wanted.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
    });
  }
})();
