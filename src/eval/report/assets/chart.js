// Surprisal of several variants of a sentence as lines, aligned by region, with the critical regions shaded.
//
//   Chart.show(container, { variants, critical, top })   replaces the content of an element by the chart
//   Chart.top(lists)                                     a common upper end of the y axis for lists of bits
//   Chart.columns(variants)                              the column of every word: [[0, 1, …], …]
//   Chart.csv(variants)                                  the numbers of the chart as CSV
//   Chart.table(rows)                                    any rows as CSV, the header first
//   Chart.colour(number)                                 the colour of a variant
//   Chart.swatch(number)                                 a piece of its line, for a list of variants
//
// variants: [{ label, words: [text, …], bits: [number, …], regions: [name, …] }, …]. bits may be shorter
// than words (still being computed); null is a missing value, and -1 is infinite. regions and critical (a list
// of names of regions) may be left out; words are then aligned from the left. With the same `top`, charts of
// several models have the same y axis.
const Chart = (function () {
  const { make, width } = Drawing;
  const HEIGHT = 200, TOP = 22, LEFT = 20, ROW = 20;
  const DASHES = ["none", "6 3", "2 2", "8 3 2 3", "12 3", "8 2 2 2 2 2"];
  const isFinite = (bits) => bits !== null && bits !== undefined && bits >= 0;
  const colour = (number) => `var(--series-${number % 6})`;

  const regionsOf = (variant) => variant.regions || variant.words.map(() => "");

  // Regions in order of appearance; one that some variants lack follows its neighbour.
  function regionOrder(variants) {
    const order = [];
    for (const variant of variants) {
      let place = 0;
      for (const region of regionsOf(variant)) {
        const found = order.indexOf(region);
        if (found >= 0) place = found + 1;
        else order.splice(place++, 0, region);
      }
    }
    return order;
  }

  // Assigns a column to every word: regions in order, each as wide as its longest variant.
  function align(variants) {
    const starts = new Map(), widths = new Map();
    let next = 0;
    for (const region of regionOrder(variants)) {
      const counts = variants.map((variant) => regionsOf(variant).filter((one) => one === region).length);
      starts.set(region, next);
      widths.set(region, Math.max(...counts));
      next += widths.get(region);
    }
    const columns = variants.map((variant) => {
      const used = new Map();
      return regionsOf(variant).map((region) => {
        used.set(region, used.has(region) ? used.get(region) + 1 : 0);
        return starts.get(region) + used.get(region);
      });
    });
    return { columns, starts, widths, size: next };
  }

  function stepOf(limit) {
    return [1, 2, 5, 10, 20, 50].find((one) => limit / one <= 5) || 100;
  }

  function top(lists) {
    const limit = Math.max(1, ...lists.flat(Infinity).filter(isFinite));
    const step = stepOf(limit);
    return Math.ceil(limit / step) * step;
  }

  function show(container, { variants, critical, top: given }) {
    const { columns, starts, widths, size } = align(variants);
    const upper = given || top(variants.map((variant) => variant.bits));
    const cell = Math.max(46, ...variants.flatMap((variant) => variant.words).map((text) => width(text, 13) + 12));
    const left = LEFT + 30 + Math.max(0, ...variants.map((variant) => width(variant.label, 12)));
    const total = { width: Math.ceil(left + size * cell + 8), height: HEIGHT + 16 + ROW * variants.length };
    const svg = make("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, role: "img", class: "chart",
      "aria-label": "Surprisal of each word in the variants, in bits; the numbers are in the cells above" });
    const y = (bits) => TOP + (HEIGHT - TOP) * (1 - bits / upper);
    for (const region of critical || []) {
      if (!starts.has(region)) continue;
      const place = { x: left + starts.get(region) * cell, width: widths.get(region) * cell };
      svg.append(make("rect", { ...place, y: TOP, height: HEIGHT - TOP, fill: "var(--band)" }),
        make("rect", { ...place, y: HEIGHT, height: 3, fill: "var(--mark)" }));
    }
    axis(svg, { left, right: total.width, y, upper });
    variants.forEach((variant, number) => {
      const xs = columns[number].map((column) => left + (column + 0.5) * cell);
      series(svg, { variant, number, xs, y, left });
    });
    container.replaceChildren(svg);
    return svg;
  }

  function axis(svg, { left, right, y, upper }) {
    const text = (x, at, content, anchor) =>
      svg.append(make("text", { x, y: at, "text-anchor": anchor, "font-size": 11, style: "fill:var(--ink)" }, content));
    for (let bits = 0; bits <= upper; bits += stepOf(upper)) {
      svg.append(make("line", { x1: left, x2: right, y1: y(bits), y2: y(bits), stroke: "var(--grid)" }));
      text(left - 6, y(bits) + 4, String(bits), "end");
    }
    text(left - 6, TOP - 10, "bits", "end");
  }

  // One variant: its line, and its words below in a row that starts with a piece of the line.
  function series(svg, { variant, number, xs, y, left }) {
    const look = { stroke: colour(number), "stroke-width": 2, "stroke-dasharray": DASHES[number % DASHES.length] };
    const points = xs.map((x, place) => [x, variant.bits[place]]).filter(([, bits]) => isFinite(bits));
    svg.append(make("polyline", { points: points.map(([x, bits]) => `${x},${y(bits)}`).join(" "), fill: "none", ...look }));
    for (const [x, bits] of points) svg.append(make("circle", { cx: x, cy: y(bits), r: 3.5, fill: colour(number) }));
    const row = HEIGHT + 22 + ROW * number;
    const write = (x, at, text, anchor, size) =>
      svg.append(make("text", { x, y: at, "text-anchor": anchor, "font-size": size, style: "fill:var(--ink)" }, text));
    svg.append(make("line", { x1: left - 34, x2: left - 8, y1: row - 4, y2: row - 4, ...look }));
    write(left - 42, row, variant.label, "end", 12);
    xs.forEach((x, place) => {
      write(x, row, variant.words[place], "middle", 12);
      if (variant.bits[place] === -1) write(x, TOP + 12, "∞", "middle", 15);
    });
  }

  function swatch(number) {
    const size = { width: 30, height: 4 };
    return make("svg", { ...size, viewBox: "0 0 30 4", class: "swatch", "aria-hidden": "true" }, make("line", { x1: 0, x2: 30,
      y1: 2, y2: 2, stroke: colour(number), "stroke-width": 3, "stroke-dasharray": DASHES[number % DASHES.length] }));
  }

  const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);

  const table = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";

  function csv(variants) {
    const rows = variants.flatMap((variant) => variant.words.map((word, place) => {
      const bits = variant.bits[place];
      const number = bits === -1 ? "inf" : isFinite(bits) ? bits : "";
      return [variant.label, place + 1, regionsOf(variant)[place], word, number];
    }));
    return table([["variant", "word_id", "region", "word", "surprisal_bits"], ...rows]);
  }

  return { show, top, csv, table, colour, swatch, columns: (variants) => align(variants).columns };
})();
