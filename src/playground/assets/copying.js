// Results for other programs: a YAML item, a table, a picture.
const Copying = (function () {
  const { make, width } = Drawing;
  const END = "</s>";

  const quoted = (text) => JSON.stringify(text);

  // The column that a suite tests: the chosen one, or the most telling one, if it has a word of every variant.
  function criticalColumn(result, columns, state) {
    const usable = columns.filter((column) => column.words.every(Cards.has));
    const telling = Cards.mostTelling(result);
    return usable.find((column) => state.name === result.name && column.words[state.variant] === state.place) ||
      usable.find((column) => column.words[0] === telling) || usable[usable.length - 1] || null;
  }

  // Regions: stretches of equal and of differing columns, and the critical column. Variants without a common column
  // are one region each.
  function regionsOf(result, state) {
    const columns = Cards.columnsOf(result).filter((column) =>
      column.words.some((place, variant) => Cards.has(place) && result.variants[variant].cells[place].word !== END));
    const critical = criticalColumn(result, columns, state);
    if (critical === null) return [{ kind: "critical", name: "critical", columns }];
    const regions = [], counts = {};
    for (const column of columns) {
      const isLater = regions.some((one) => one.kind === "critical");
      const kind = column === critical ? "critical" : !column.same ? "differs" : isLater ? "rest" : "same";
      const last = regions[regions.length - 1];
      if (last && last.kind === kind) { last.columns.push(column); continue; }
      counts[kind] = (counts[kind] || 0) + 1;
      regions.push({ kind, columns: [column], name: kind === "critical" ? kind : `${kind}${counts[kind]}` });
    }
    return regions;
  }

  // A suite with one item; an error if its words cannot be written in one.
  function yaml(result, state, language) {
    const regions = regionsOf(result, state);
    const names = result.variants.map((_, variant) => ["a", "b"][variant]);
    const words = (columns, variant) => columns.map((column) => column.words[variant]).filter(Cards.has)
      .map((place) => result.variants[variant].cells[place].word);
    const lines = names.map((name, variant) => {
      const parts = regions.map((region) => words(region.columns, variant));
      if (parts.flat().some((word) => word.includes("|"))) throw new Error("in a suite, | separates regions and cannot be a word");
      return `    ${name}: ${quoted(parts.map((part) => part.join(" ")).join(" | "))}`;
    });
    const differing = regions.filter((region) => region.kind === "differs").map((region) => region.name);
    const isPair = names.length > 1;
    return [
      "name: mine/example", `language: ${language}`, `spaced: ${language !== "zh"}`,
      `regions: [${regions.map((region) => region.name).join(", ")}]`, "critical: [critical]",
      ...(differing.length ? [`differing: [${differing.join(", ")}]`] : []),
      ...(isPair ? ["predictions:", "  a_is_harder: (critical;%a%) > (critical;%b%)",
        "effects:", "  a_minus_b: (critical;%a%) - (critical;%b%)"]
        : ["predictions: {}  # a second variant makes a comparison", "effects:", "  critical_bits: (critical;%a%)"]),
      "items:", "  1:", ...lines, "",
    ].join("\n");
  }

  const FIRST_COLUMNS = ["run", "sentence_id", "word_id", "word", "seen", "seen_as"];

  // The table of task=surprisal, for all models; like there, quotation marks have no meaning.
  function tsv(results, names) {
    const measure = results.some((one) => one.measure === "pll") ? "pll_bits" : "surprisal_bits";
    const used = names.filter((name) => ![...FIRST_COLUMNS, "surprisal_bits"].includes(name) &&
      results.some((one) => one.variants.some((variant) => variant.cells.some((cell) => cell.columns && name in cell.columns))));
    const rows = [[...FIRST_COLUMNS, measure, ...used]];
    for (const one of results) {
      one.variants.forEach((variant, sentence) => variant.cells.forEach((cell, place) => {
        if (!cell.done) return;
        const columns = cell.columns || {};
        rows.push([one.run, sentence + 1, place + 1, cell.word, cell.seen ? "TRUE" : "FALSE", cell.seen_as, cell.bits === -1 ? "Inf" : written(cell.bits),
          ...used.map((name) => (name in columns ? written(columns[name]) : ""))]);
      }));
    }
    return rows.map((row) => row.join("\t")).join("\n") + "\n";
  }

  const written = (value) => (value === null || value === undefined ? "NaN" : String(value));

  // A picture of one model: its cells, differences and chart, and the best parses at the chosen word.
  function picture(result, card) {
    const left = 110, cellHeight = 44;
    const columns = Cards.columnsOf(result);
    const cellAt = (column, variant) => (Cards.has(column.words[variant]) ? result.variants[variant].cells[column.words[variant]] : null);
    const widths = columns.map((column) => Math.max(54, ...result.variants.map((_, variant) =>
      (cellAt(column, variant) ? width(cellAt(column, variant).word, 15) + 16 : 0))));
    const starts = widths.map((_, number) => left + widths.slice(0, number).reduce((sum, one) => sum + one + 4, 0));
    const parts = [text(8, 22, result.title, { "font-size": 15, "font-weight": 600 })];
    const most = Cards.top([result]);
    let y = 38, right = left + widths.reduce((sum, one) => sum + one + 4, 0) + 8;
    result.variants.forEach((_, variant) => {
      if (result.variants.length > 1) parts.push(text(8, y + 26, Cards.NAMES[variant], { fill: Chart.colour(variant), "font-weight": 600 }));
      columns.forEach((column, number) => {
        if (cellAt(column, variant)) parts.push(...cellOf(cellAt(column, variant), starts[number], y, widths[number], cellHeight, most));
      });
      y += cellHeight + 6;
    });
    if (result.variants.length > 1) {
      parts.push(text(8, y + 16, "A − B (bits)", { "font-size": 12 }));
      columns.forEach((column, number) => {
        const bits = Cards.difference(result, column);
        if (bits !== null) parts.push(text(starts[number] + widths[number] / 2, y + 16, Cards.signed(bits), { "text-anchor": "middle", "font-size": 12 }));
      });
      y += 24;
    }
    const chart = card.querySelector(".chart-place svg");
    parts.push(placed(chart, 8, y + 8));
    y += Number(chart.getAttribute("height")) + 16;
    right = Math.max(right, Number(chart.getAttribute("width")) + 16);
    // The best parse of each variant, side by side.
    let x = 8, deepest = 0;
    for (const found of card.querySelectorAll(".trees .parse-column")) {
      const tree = found.querySelector(".parse svg");
      const titles = [found.querySelector("h5").textContent, found.querySelector(".parse > div").textContent];
      titles.forEach((title, number) => parts.push(text(x, y + 18 + 16 * number, title, { "font-size": 12 })));
      parts.push(placed(tree, x, y + 44));
      x += Math.max(Number(tree.getAttribute("width")), ...titles.map((title) => width(title, 12))) + 32;
      deepest = Math.max(deepest, Number(tree.getAttribute("height")) + 52);
    }
    y += deepest;
    right = Math.max(right, x);
    return make("svg", { width: right, height: y + 8, viewBox: `0 0 ${Math.ceil(right)} ${Math.ceil(y + 8)}`, class: "picture",
      "font-size": 14, fill: "var(--ink)" }, ...parts);
  }

  // Styles are computed for figures of the page only.
  async function png(svg) {
    document.body.append(svg);
    try { return await Downloads.png(svg); } finally { svg.remove(); }
  }

  function text(x, y, content, more) {
    return make("text", { x, y, ...more }, content);
  }

  function placed(svg, x, y) {
    const copy = svg.cloneNode(true);
    copy.setAttribute("x", x);
    copy.setAttribute("y", y);
    return copy;
  }

  function cellOf(cell, x, y, size, height, most) {
    const shade = cell.bits === null ? 0 : cell.bits < 0 ? 0.62 : 0.62 * cell.bits / most;
    const centre = x + size / 2;
    return [
      make("rect", { x, y, width: size, height, rx: 5, fill: "rgb(var(--heat))", "fill-opacity": shade.toFixed(3), stroke: "var(--line)" }),
      text(centre, y + 19, cell.word, { "text-anchor": "middle", "font-size": 15, ...(cell.seen ? {} : { "text-decoration": "underline" }) }),
      text(centre, y + 36, Cells.written(cell.bits), { "text-anchor": "middle", "font-size": 12 }),
    ];
  }

  return { yaml, tsv, picture, png };
})();
