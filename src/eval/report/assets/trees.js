// Drawing helpers, and trees, including partial ones: "(S (NP the cat) (VP" has two open nodes.
//
//   Drawing.html(name, attributes, ...children)   an HTML element; Drawing.make: an SVG element
//   Drawing.tree("(S (NP the cat) (VP")           the tree as an SVG element
//   Drawing.parses(container, columns)            replaces the content of an element by the best parses
//     of several variants side by side; columns: [{ title, colour?, parses: [[share, tree], …] }, …], the
//     best parse first. The best of each column is open, the others are folded.
//
// Colours are the variables of report.css (--ink, --muted, --mark, --accent, --grid).
const Drawing = (function () {
  const SVG = "http://www.w3.org/2000/svg";

  // A strict content security policy forbids the attribute style, but not its setting by a script.
  function set(node, attributes) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "style") node.style.cssText = value;
      else node.setAttribute(key, value);
    }
  }

  function make(name, attributes, ...children) {
    const node = document.createElementNS(SVG, name);
    set(node, attributes);
    node.append(...children);
    return node;
  }

  function html(name, attributes, ...children) {
    const node = document.createElement(name);
    set(node, attributes);
    node.append(...children);
    return node;
  }

  // Width of a text in pixels at the given size; Han characters are as wide as they are high.
  function width(text, size) {
    let units = 0;
    for (const letter of text) units += letter.codePointAt(0) >= 0x2e80 ? 1 : 0.6;
    return units * size;
  }

  function parse(text) {
    const root = { label: "", children: [], open: true };
    const stack = [root];
    let fresh = false;
    for (const token of text.match(/[()]|[^\s()]+/g) || []) {
      const top = stack[stack.length - 1];
      if (token === "(") {
        const node = { label: "", children: [], open: true };
        top.children.push(node);
        stack.push(node);
        fresh = true;
      } else if (token === ")") {
        if (stack.length > 1) stack.pop().open = false;
        fresh = false;
      } else {
        if (fresh) top.label = token;
        else top.children.push({ word: token });
        fresh = false;
      }
    }
    return root.children.length === 1 ? root.children[0] : { ...root, open: false };
  }

  const SIZE = 13, LEVEL = 40, GAP = 12;

  // Computes the position of every node: leaves in sentence order, labels centred above them.
  function place(node, depth, cursor) {
    node.depth = depth;
    if (node.word !== undefined || node.rest) {
      node.width = Math.max(width(node.word || "…", SIZE), 12);
      node.x = cursor.x + node.width / 2;
      cursor.x += node.width + GAP;
      cursor.depth = Math.max(cursor.depth, depth);
      return;
    }
    // The words to come belong to the innermost open node.
    const last = node.children[node.children.length - 1];
    if (node.open && !(last && last.open)) node.children.push({ rest: true });
    const before = cursor.x;
    for (const child of node.children) place(child, depth + 1, cursor);
    const own = width(node.label, SIZE) + 10;
    if (cursor.x - before < own + GAP) {
      const shift = (own + GAP - (cursor.x - before)) / 2;
      for (const child of node.children) move(child, shift);
      cursor.x = before + own + GAP;
    }
    const ends = [node.children[0], node.children[node.children.length - 1]];
    node.x = ends[0] ? (ends[0].x + ends[1].x) / 2 : before + own / 2;
    node.width = own;
  }

  function move(node, shift) {
    node.x += shift;
    for (const child of node.children || []) move(child, shift);
  }

  function draw(node, svg) {
    const isLeaf = node.word !== undefined || node.rest;
    const y = 14 + node.depth * LEVEL;
    for (const child of node.children || []) {
      svg.append(make("line", {
        x1: node.x, y1: y + 9, x2: child.x, y2: y + LEVEL - 10, stroke: "var(--muted)",
        "stroke-width": 1, "stroke-dasharray": child.rest || child.open ? "3 3" : "none",
      }));
      draw(child, svg);
    }
    if (!isLeaf && node.open) {
      svg.append(make("rect", {
        x: node.x - node.width / 2, y: y - 10, width: node.width, height: 19, rx: 4, fill: "none",
        stroke: "var(--mark)", "stroke-width": 1.2, "stroke-dasharray": "3 2",
      }));
    }
    const text = make("text", { x: node.x, y: y + 4, "text-anchor": "middle", "font-size": SIZE });
    text.textContent = isLeaf ? node.word || "…" : node.label;
    if (isLeaf) text.setAttribute("font-weight", "600");
    svg.append(text);
  }

  function tree(text) {
    const root = parse(text);
    const cursor = { x: 8, depth: 0 };
    place(root, 0, cursor);
    const size = { width: Math.ceil(cursor.x), height: 30 + cursor.depth * LEVEL };
    const svg = make("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": text });
    // A wide tree becomes smaller as long as its words can be read.
    svg.style.cssText = `width:100%;height:auto;max-width:${size.width}px;min-width:${Math.ceil(0.7 * size.width)}px`;
    draw(root, svg);
    return svg;
  }

  const percent = (share) => `${(100 * share).toFixed(1)} %`;

  function parseCard([share, text]) {
    const bar = html("span", {});
    bar.style.width = `${Math.round(100 * share)}%`;
    return html("div", { class: "parse" }, html("div", {}, `${percent(share)} of the probability in the beam`),
      html("div", { class: "share" }, bar),
      html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Parse" }, tree(text)));
  }

  function parseColumn({ title, colour, parses }) {
    const head = html("h5", {}, title);
    if (colour) head.style.borderColor = colour;
    const [best, ...others] = parses.map(parseCard);
    const more = others.length ? [html("details", {}, html("summary", {}, `${others.length} more`), ...others)] : [];
    return html("div", { class: "parse-column" }, head, ...(best ? [best] : []), ...more);
  }

  function parses(container, columns) {
    container.replaceChildren(html("div", { class: "parses" }, ...columns.map(parseColumn)));
  }

  return { make, html, width, parse, tree, parses };
})();
