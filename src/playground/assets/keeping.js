// What the user has scrolled to and unfolded remains so when the results are drawn again.
//
//   const restore = Keeping.of(container); … new content …; restore();
//   Keeping.reveal(cell)   scrolls the sentence and the chart of a cell so that it can be seen
//
// Elements of the old and the new content correspond if they are at the same place of the same card.
const Keeping = (function () {
  const SCROLLED = ".scroll, .chart-place";

  function places(container) {
    const found = new Map();
    for (const card of container.querySelectorAll(".card")) {
      for (const [kind, selector] of [["scroll", SCROLLED], ["fold", "details"]]) {
        card.querySelectorAll(selector).forEach((node, number) => found.set(`${kind} ${number} ${card.dataset.name}`, node));
      }
    }
    return found;
  }

  function of(container) {
    const before = Array.from(places(container), ([key, node]) => [key, node.scrollLeft, Boolean(node.open)]);
    return () => {
      const after = places(container);
      for (const [key, left, isOpen] of before) {
        const node = after.get(key);
        if (!node) continue;
        if (isOpen) node.open = true;
        node.scrollLeft = left;
      }
    };
  }

  // Scrolls sideways only: the page itself remains where it is.
  function reveal(cell) {
    const box = cell.closest(".scroll"), fixed = box.querySelector("th").offsetWidth;
    const left = cell.getBoundingClientRect().left - box.getBoundingClientRect().left + box.scrollLeft;
    const right = left + cell.offsetWidth;
    if (left - fixed < box.scrollLeft || right > box.scrollLeft + box.clientWidth) {
      box.scrollLeft = left - fixed - (box.clientWidth - fixed - cell.offsetWidth) / 2;
    }
    const chart = cell.closest(".card").querySelector(".chart-place");
    const share = (left - fixed) / Math.max(1, box.scrollWidth - fixed);
    if (chart.scrollWidth > chart.clientWidth) chart.scrollLeft = share * chart.scrollWidth - chart.clientWidth / 2 + fixed;
  }

  return { of, reveal };
})();
