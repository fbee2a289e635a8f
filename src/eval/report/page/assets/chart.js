// Surprisal of an item's variants as lines, aligned by region, with the critical region shaded.
const Chart = (function () {
  const { make, width } = Drawing;
  const HEIGHT = 190, TOP = 14, LEFT = 44, ROW = 20;
  const DASHES = ["none", "6 3", "2 2", "8 3 2 3"];

  // Assigns a column to every word: regions in order, each as wide as its longest variant.
  function align(variants, regions) {
    const widths = regions.map((_, region) =>
      Math.max(0, ...variants.map((v) => v.r.filter((r) => r === region).length)));
    const order = regionOrder(variants);
    const starts = {};
    let next = 0;
    for (const region of order) { starts[region] = next; next += widths[region]; }
    const columns = variants.map((v) => {
      const used = {};
      return v.r.map((region) => starts[region] + (used[region] = (used[region] ?? -1) + 1));
    });
    return { columns, starts, widths, size: next };
  }

  function regionOrder(variants) {
    const order = [];
    for (const variant of variants) {
      let place = 0;
      for (const region of variant.r) {
        const found = order.indexOf(region);
        if (found >= 0) place = found + 1;
        else order.splice(place++, 0, region);
      }
    }
    return order;
  }

  function nice(limit) {
    const step = [1, 2, 5, 10, 20, 50].find((one) => limit / one <= 5) || 100;
    return { step, top: Math.max(step, Math.ceil(limit / step) * step) };
  }

  function lines(suite, item, values, words, labels) {
    const { columns, starts, widths, size } = align(item.variants, suite.regions);
    const texts = item.variants.map((v) => v.w.map((number) => words[number]));
    const cell = Math.max(46, ...texts.flat().map((text) => width(text, 13) + 12));
    const left = LEFT + Math.max(...labels.map((label) => width(label, 12)));
    const finite = values.flat().filter((bits) => bits !== null && bits >= 0);
    const { step, top } = nice(Math.max(1, ...finite));
    const x = (column) => left + (column + 0.5) * cell;
    const y = (bits) => TOP + (HEIGHT - TOP) * (1 - bits / top);
    const total = { width: Math.ceil(left + size * cell + 8), height: HEIGHT + 16 + ROW * texts.length };
    const svg = make("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, role: "img",
      "aria-label": "Surprisal of each word in the variants, in bits; the numbers are in the cells above" });
    for (const region of suite.critical) {
      if (starts[region] !== undefined) svg.append(make("rect", { x: left + starts[region] * cell, y: TOP,
        width: widths[region] * cell, height: HEIGHT - TOP, fill: "var(--band)" }));
    }
    for (let bits = 0; bits <= top; bits += step) {
      svg.append(make("line", { x1: left, x2: total.width, y1: y(bits), y2: y(bits), stroke: "var(--grid)" }));
      svg.append(make("text", { x: left - 6, y: y(bits) + 4, "text-anchor": "end", "font-size": 11 }, String(bits)));
    }
    item.variants.forEach((_, number) =>
      series(svg, number, columns[number].map(x), values[number] || [], y, texts[number], labels[number], left));
    return svg;
  }

  function series(svg, number, xs, values, y, texts, label, left) {
    const colour = `var(--series-${number % 8})`;
    const points = xs.map((x, place) => [x, values[place]]).filter(([, bits]) => bits !== null && bits >= 0);
    svg.append(make("polyline", { points: points.map(([x, bits]) => `${x},${y(bits)}`).join(" "), fill: "none",
      stroke: colour, "stroke-width": 2, "stroke-dasharray": DASHES[number % DASHES.length] }));
    for (const [x, bits] of points) svg.append(make("circle", { cx: x, cy: y(bits), r: 3, fill: colour }));
    const row = HEIGHT + 22 + ROW * number;
    const write = (x, text, anchor) =>
      svg.append(make("text", { x, y: row, "text-anchor": anchor, "font-size": 12, style: `fill:${colour}` }, text));
    write(left - 8, label, "end");
    xs.forEach((x, place) => {
      write(x, texts[place], "middle");
      if (values[place] < 0) svg.append(make("text", { x, y: TOP + 12, "text-anchor": "middle", "font-size": 15,
        style: `fill:${colour}` }, "∞"));
    });
  }

  return { lines };
})();
