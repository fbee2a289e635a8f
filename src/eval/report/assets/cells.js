// Sentences as rows of cells, word by word: surprisal in bits as number and as colour.
//
//   Cells.show(container, { variants, critical, top, chosen, onChoose })
//
//   Cells.cell({ variants, critical, top, chosen }, variant, word)   the cell of one word
//
// The first replaces the content of an element. variants are those of chart.js, each with, if known, `unseen` (a list of
// true or false: out of vocabulary), `parsed` (likewise: the word can be chosen), `gloss` (a list of texts or
// empty texts), `translation` and `note` (text beside the label). `top` is the surprisal of the strongest colour.
// `chosen` is { variant, word } or null. onChoose(variant, word) is called after a click on a word with
// `parsed`, and after an arrow key: left and right move in the sentence, up and down to the word below the same
// column of the chart.
const Cells = (function () {
  const { html } = Drawing;
  const STRONGEST = 0.62;
  const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

  function written(bits) {
    return bits === null || bits === undefined ? "–" : bits < 0 ? "∞" : bits.toFixed(2);
  }

  function shade(bits, top) {
    if (bits === null || bits === undefined) return 0;
    return bits < 0 ? STRONGEST : (STRONGEST * Math.min(1, bits / top)).toFixed(3);
  }

  function cell(options, number, word) {
    const { variants, critical, top, chosen } = options;
    const variant = variants[number], bits = variant.bits[word];
    const unseen = Boolean((variant.unseen || [])[word]), parsed = Boolean((variant.parsed || [])[word]);
    const node = html(parsed ? "button" : "span", { class: "cell" },
      html("span", { class: "word" }, variant.words[word]), html("span", { class: "bits" }, written(bits)));
    node.style.setProperty("--shade", shade(bits, top));
    node.classList.toggle("critical", Boolean(variant.regions) && (critical || []).includes(variant.regions[word]));
    node.classList.toggle("unseen", unseen);
    if (unseen) node.title = "out of vocabulary";
    if (parsed) {
      const isChosen = Boolean(chosen) && chosen.variant === number && chosen.word === word;
      node.type = "button";
      node.dataset.variant = number;
      node.dataset.word = word;
      node.setAttribute("aria-pressed", isChosen);
      node.setAttribute("aria-label",
        `${variant.words[word]}, ${written(bits)} bits${unseen ? ", out of vocabulary" : ""}: show parses`);
      node.tabIndex = isChosen ? 0 : -1;
    }
    return node;
  }

  function block(options, number) {
    const variant = options.variants[number], regions = variant.regions || [];
    const words = variant.words.map((_, word) => {
      const starts = regions[word] !== undefined && (word === 0 || regions[word] !== regions[word - 1]);
      const gloss = (variant.gloss || [])[word];
      return html("li", {}, html("span", { class: "region" }, starts ? regions[word] : ""),
        cell(options, number, word), ...(variant.gloss ? [html("span", { class: "gloss" }, gloss || "")] : []));
    });
    return html("div", { class: "variant" },
      html("h4", {}, html("span", {}, Chart.swatch(number), variant.label),
        ...(variant.note ? [html("span", { class: "sum" }, variant.note)] : [])),
      html("ol", { class: "words" }, ...words),
      ...(variant.translation ? [html("p", { class: "translation" }, variant.translation)] : []));
  }

  // The word that an arrow key leads to, or null: in the other variant, the nearest in the same column.
  function target(variants, { variant, word }, key) {
    const [down, right] = KEYS[key];
    const can = (number, place) => Boolean(((variants[number] || {}).parsed || [])[place]);
    if (right) return can(variant, word + right) ? { variant, word: word + right } : null;
    const next = variant + down;
    if (!variants[next]) return null;
    const columns = Chart.columns(variants), here = columns[variant][word];
    const places = columns[next].map((_, place) => place).filter((place) => can(next, place));
    if (!places.length) return null;
    const away = (place) => Math.abs(columns[next][place] - here);
    return { variant: next, word: places.reduce((best, place) => (away(place) < away(best) ? place : best)) };
  }

  function show(container, options) {
    const blocks = options.variants.map((_, number) => block(options, number));
    container.replaceChildren(...blocks);
    // One tab stop per variant; arrow keys move within it.
    for (const one of blocks) {
      const buttons = one.querySelectorAll("button.cell");
      if (buttons.length && !one.querySelector('button.cell[tabindex="0"]')) buttons[0].tabIndex = 0;
    }
    const placeOf = (button) => ({ variant: Number(button.dataset.variant), word: Number(button.dataset.word) });
    const choose = (place) => {
      options.onChoose(place.variant, place.word);
      const again = container.querySelector(`button.cell[data-variant="${place.variant}"][data-word="${place.word}"]`);
      if (again) again.focus();
    };
    container.onclick = (event) => {
      const button = event.target.closest("button.cell");
      if (button && options.onChoose) choose(placeOf(button));
    };
    container.onkeydown = (event) => {
      const button = event.target.closest("button.cell");
      if (!button || !options.onChoose || !KEYS[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      const next = target(options.variants, placeOf(button), event.key);
      if (next) choose(next);
    };
  }

  return { show, cell, written };
})();
