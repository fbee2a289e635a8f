// Downloads of figures as SVG, PNG and CSV, made in the page: nothing is fetched.
//
//   Downloads.bar(name, { svg, csv })   an element with three buttons; svg is a function that returns the SVG
//                                       element, csv one that returns the text of the table
//   Downloads.png(svg)                  a promise of the figure as a blob
//   Downloads.standalone(svg)           the figure as text that needs no page: styles and outlines included
//
// Every element [data-download] of the page gets such a bar: its name is the value, its figure the SVG of the
// same <figure>, its table the entry of that name in the data block "figure-data".
const Downloads = (function () {
  const { html } = Drawing;
  const SCALE = 2;
  const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "fill-opacity", "opacity",
    "stroke-linejoin", "stroke-linecap", "font-size", "font-weight", "font-family", "text-anchor", "visibility"];

  // The computed styles become attributes, so that colours are those that are seen.
  function dress(copy, original) {
    const style = getComputedStyle(original);
    copy.removeAttribute("class");
    copy.removeAttribute("style");
    for (const name of PAINT) {
      const value = style.getPropertyValue(name);
      if (value) copy.setAttribute(name, value);
    }
    Array.from(copy.children).forEach((child, place) => dress(child, original.children[place]));
  }

  // Letters are drawn once for all figures of the page; a figure of its own needs its own.
  function outlines(copy) {
    const used = new Set(Array.from(copy.querySelectorAll("use"), (one) => one.getAttribute("href")));
    const found = Array.from(used, (name) => copy.querySelector(name) ? null : document.querySelector(name));
    return found.filter(Boolean).map((one) => one.cloneNode(true));
  }

  function standalone(svg) {
    const copy = svg.cloneNode(true);
    dress(copy, svg);
    const box = svg.viewBox.baseVal;
    const paper = Drawing.make("rect", { x: box.x, y: box.y, width: box.width, height: box.height,
      fill: getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() });
    copy.prepend(Drawing.make("defs", {}, ...outlines(copy)), paper);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    return new XMLSerializer().serializeToString(copy);
  }

  function save(name, blob) {
    const link = html("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function png(svg) {
    const box = svg.viewBox.baseVal, picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
    await picture.decode();
    const canvas = html("canvas", { width: Math.ceil(box.width * SCALE), height: Math.ceil(box.height * SCALE) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  function bar(name, { svg, csv }) {
    const kinds = {
      SVG: () => save(`${name}.svg`, new Blob([standalone(svg())], { type: "image/svg+xml" })),
      PNG: async () => save(`${name}.png`, await png(svg())),
      CSV: () => save(`${name}.csv`, new Blob([csv()], { type: "text/csv" })),
    };
    const buttons = Object.entries(kinds).map(([kind, act]) => {
      const button = html("button", { type: "button", "aria-label": `Download ${name} as ${kind}` }, kind);
      button.addEventListener("click", act);
      return button;
    });
    return html("p", { class: "downloads" }, "Download: ", ...buttons);
  }

  const block = document.getElementById("figure-data");
  const tables = block ? JSON.parse(block.textContent) : {};
  for (const place of document.querySelectorAll("[data-download]")) {
    const name = place.dataset.download;
    place.replaceWith(bar(name, { svg: () => document.querySelector(`figure[data-name="${CSS.escape(name)}"] svg`),
      csv: () => tables[name] }));
  }

  return { bar, standalone, png };
})();
