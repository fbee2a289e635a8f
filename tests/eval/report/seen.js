(names) => {
  // Every visible text, letter and mark: kind, colour over its background, background, own colour, and a sample of it;
  // and the colours of the style variables that are named.
  const parts = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const over = (front, back) => front.slice(0, 3).map((c, i) => c * (front[3] ?? 1) + back[i] * (1 - (front[3] ?? 1)));
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length && (colour[3] ?? 1) > 0) { layers.push(colour); if ((colour[3] ?? 1) === 1) break; }
    }
    return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255]);
  };
  const found = new Map();
  const add = (kind, colour, share, node, sample) => {
    if (!colour.length || share === 0) return;
    const back = ground(node), front = over([...colour.slice(0, 3), (colour[3] ?? 1) * share], back);
    found.set([kind, front.map(Math.round), back.map(Math.round)].join(), [kind, front, back, colour.slice(0, 3), sample]);
  };
  for (const node of document.body.querySelectorAll("*")) {
    if (!node.checkVisibility() || node.closest("noscript, defs")) continue;
    const style = getComputedStyle(node), share = Number(style.opacity), svg = node.closest("svg");
    if (!svg) {
      const own = Array.from(node.childNodes).filter((one) => one.nodeType === 3 && one.data.trim());
      if (own.length) add("text", parts(style.color), share, node, own[0].data.trim().slice(0, 30));
    } else if (node.localName === "text") {
      add("text", parts(style.fill), share, svg.parentElement, node.textContent);
    } else if (node.localName === "use" && (node.getAttribute("href") || "").startsWith("#g")) {
      add("text", parts(style.fill), share * Number(style.fillOpacity), svg.parentElement, "letter");
    } else if (["path", "use", "line", "polyline", "polygon", "circle", "rect"].includes(node.localName)) {
      const name = node.closest("figure")?.dataset.name || "explorer";
      const of = `${name} ${node.localName}`;
      // A mark with a line and a filling needs one of them; pale areas have an outline of their own.
      const isFilled = style.fill !== "none", isDrawn = style.stroke !== "none" && parseFloat(style.strokeWidth) > 0;
      const filling = share * Number(style.fillOpacity), line = share * Number(style.strokeOpacity);
      if (isDrawn && line >= filling) add("mark", parts(style.stroke), line, svg.parentElement, of);
      else if (isFilled && filling > 0.25) add("mark", parts(style.fill), filling, svg.parentElement, of);
    }
  }
  const probe = document.createElement("i");
  document.body.append(probe);
  const plain = names.map((name) => { probe.style.color = `var(${name})`; return parts(getComputedStyle(probe).color).slice(0, 3); });
  probe.remove();
  return [Array.from(found.values()), plain];
}
