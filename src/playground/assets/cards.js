// The results of one model: cells of words, differences, entropy, chart and partial parses.
//
// Cells, chart and parses are drawn by the code of the report's explorer; what is added here is one column for the
// same word of both variants, with rows for differences and entropies.
const Cards = (function () {
  const { html } = Drawing;
  const NAMES = ["A", "B"];
  const isNumber = (bits) => bits !== null && bits !== undefined && bits >= 0;
  const has = (place) => place !== null && place !== undefined;
  const signed = (bits) => (Math.abs(bits) < 0.005 ? "" : bits < 0 ? "−" : "+") + Math.abs(bits).toFixed(2);
  const nameOf = (result, variant) => (result.variants.length > 1 ? NAMES[variant] : "");

  function columnsOf(result) {
    return Alignment.columns(result.variants.map((variant) => variant.cells.map((cell) => cell.word)));
  }

  // Difference of A and B in a column; null if one of them has no number there.
  function difference(result, column) {
    if (result.variants.length < 2 || !column.words.every(has)) return null;
    const [first, second] = column.words.map((place, variant) => result.variants[variant].cells[place].bits);
    return isNumber(first) && isNumber(second) ? first - second : null;
  }

  // The column in which the variants differ most although they have the same word: where to look first.
  function mostTelling(result) {
    const found = columnsOf(result).filter((column) => column.same && difference(result, column) !== null);
    const size = (column) => Math.abs(difference(result, column));
    const best = found.reduce((most, column) => (most === null || size(column) > size(most) ? column : most), null);
    return best && best.words[0];
  }

  // The variants as the explorer takes them: each column is a region, and what differs is critical.
  function explored(result) {
    const columns = columnsOf(result);
    const variants = result.variants.map((variant, number) => ({
      label: nameOf(result, number),
      words: variant.cells.map((one) => one.word),
      bits: variant.cells.map((one) => one.bits),
      unseen: variant.cells.map((one) => !one.seen),
      parsed: variant.cells.map(() => true),
      regions: columns.flatMap((column, region) => (has(column.words[number]) ? [String(region)] : [])),
    }));
    return { columns, variants, critical: columns.flatMap((column, region) => (column.same ? [] : [String(region)])) };
  }

  // The upper end of the axis and the strongest colour, the same for all models.
  function top(results) {
    return Chart.top([10, ...results.map((one) => one.variants.map((variant) => variant.cells.map((cell) => cell.bits)))]);
  }

  function cell(result, options, variant, place) {
    const one = result.variants[variant].cells[place];
    const node = Cells.cell({ ...options, critical: [] }, variant, place);
    if (!one.done) node.querySelector(".bits").textContent = "…";
    // Models without parses have words to choose, too: a suite tests the chosen one.
    const variantName = nameOf(result, variant), unknown = one.seen ? "" : ", unknown word";
    node.setAttribute("aria-label", `${variantName ? `${variantName}, ` : ""}${one.word}, ${one.done ? `${Cells.written(one.bits)} bits` : "not computed yet"}${unknown}`);
    if (one.seen_as !== one.word) node.title = `${one.seen ? "" : "unknown word, "}seen as ${one.seen_as}`;
    return node;
  }

  function row(title, content, name) {
    return html("tr", name ? { class: name } : {}, html("th", { scope: "row" }, title), ...content.map((one) => html("td", {}, one)));
  }

  function entropyRows(result, columns) {
    return result.variants.flatMap((variant, number) => {
      if (!variant.cells.some((one) => one.columns && isNumber(one.columns.entropy_bits))) return [];
      const content = columns.map((column) => {
        const one = has(column.words[number]) ? variant.cells[column.words[number]] : null;
        return one && one.done && one.columns ? Cells.written(one.columns.entropy_bits) : "";
      });
      return [row(`entropy ${nameOf(result, number)}`, content, "entropy")];
    });
  }

  function grid(result, options) {
    const { columns } = options;
    const rows = result.variants.map((_, variant) => {
      const swatch = html("span", { class: `swatch ${variant ? "second" : "first"}` });
      return row(html("span", {}, swatch, nameOf(result, variant)),
        columns.map((column) => (has(column.words[variant]) ? cell(result, options, variant, column.words[variant]) : "")));
    });
    if (result.variants.length > 1) {
      rows.push(row("A − B", columns.map((column) => {
        const bits = difference(result, column);
        return bits === null ? "" : signed(bits);
      }), "difference"));
    }
    const sides = columns.map((column) => html("col", column.same ? {} : { class: "differs" }));
    return html("div", { class: "scroll" }, html("table", { class: "grid" },
      html("colgroup", {}, html("col"), ...sides), html("tbody", {}, ...rows, ...entropyRows(result, columns))));
  }

  // The parses at the chosen word, and at the word of the other variant in the same column.
  function parseColumns(result, state) {
    const column = columnsOf(result).find((one) => one.words[state.variant] === state.place);
    return (column ? column.words : []).flatMap((place, variant) => {
      const list = has(place) ? (result.variants[variant].parses || [])[place] : null;
      if (!list || !list.length) return [];
      const one = result.variants[variant].cells[place];
      const rest = 1 - list.reduce((sum, [share]) => sum + share, 0);
      const others = rest >= 0.0005 ? `, other parses ${(100 * rest).toFixed(1)} %` : "";
      const entropy = one.columns && isNumber(one.columns.entropy_bits) ? `, entropy ${Cells.written(one.columns.entropy_bits)} bits` : "";
      const name = nameOf(result, variant);
      return [{ title: `${name}${name ? ", " : ""}after “${one.word}”: surprisal ${Cells.written(one.bits)} bits${entropy}${others}`,
        colour: Chart.colour(variant), parses: list }];
    });
  }

  function card(result, state, most) {
    const notes = [...(result.warning ? [result.warning] : []), ...(result.failures || []), ...(result.error ? [result.error] : [])];
    const kind = result.measure === "pll" ? " (pseudo-log-likelihood)" : "";
    const node = html("article", { class: "card", "aria-label": result.title },
      html("h3", {}, result.title + kind, " ", html("span", { class: "note state" }, result.state || "")),
      ...notes.map((note) => html("p", { class: "problem" }, note)));
    node.dataset.name = result.name;
    if (!result.variants.length) return node;
    const isChosen = state.name === result.name;
    const options = { ...explored(result), top: most, chosen: isChosen ? { variant: state.variant, word: state.place } : null };
    const chart = html("div", { class: "chart-place" });
    Chart.show(chart, options);
    node.append(grid(result, options), chart);
    if (result.syntactic && isChosen) {
      const trees = html("div", { class: "trees" });
      Drawing.parses(trees, parseColumns(result, state));
      node.append(trees);
    }
    return node;
  }

  return { card, top, columnsOf, difference, mostTelling, signed, has, NAMES };
})();
