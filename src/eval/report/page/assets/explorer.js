// The item explorer: shows the surprisals, outcomes and parses of the selected suite, item and model.
(function () {
  const root = document.getElementById("explorer-root");
  if (!root) return;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const { html, tree } = Drawing;
  const at = (name) => document.getElementById(`explorer-${name}`);
  const suites = at("suite"), items = at("item"), runs = at("run");
  const state = { variant: null, word: null };

  const option = (value, text) => html("option", { value }, text);
  const readable = (name) => String(name).replaceAll("_", " ");
  const suite = () => data.suites[suites.value];
  const item = () => suite().items[items.value];
  const values = () => item().s[runs.value] || [];
  const parses = () => (item().p || {})[runs.value] || {};

  function runName(run) {
    return run.model + (run.seed === null ? "" : ` · seed ${run.seed}`);
  }

  function label(place) {
    const variant = item().variants[place];
    const several = item().variants.filter((one) => one.c === variant.c).length > 1;
    return readable(variant.c) + (several ? ` ${variant.v}` : "");
  }

  function fillItems() {
    items.replaceChildren(...suite().items.map((one, place) => option(place, one.id)));
  }

  // Keeps the selected run if the new item has it, else a run of the same model, else a run with
  // parses, else the first run.
  function fillRuns() {
    const before = data.runs[runs.value];
    const found = data.runs.map((_, place) => place).filter((place) => item().s[place]);
    const groups = new Map();
    for (const place of found) {
      const corpus = data.runs[place].corpus;
      if (!groups.has(corpus)) groups.set(corpus, html("optgroup", { label: corpus || "models" }));
      groups.get(corpus).append(option(place, runName(data.runs[place])));
    }
    runs.replaceChildren(...groups.values());
    const same = found.filter((place) => before && data.runs[place].model === before.model);
    const kept = same.find((place) => data.runs[place].corpus === before.corpus && data.runs[place].seed === before.seed);
    const parsed = found.filter((place) => (item().p || {})[place]);
    runs.value = kept ?? same[0] ?? parsed[0] ?? found[0];
  }

  function showOutcomes() {
    const rows = (item().o || {})[runs.value] || [];
    const list = rows.map(([prediction, outcome, bits, error]) => {
      const verdict = outcome === null ? "missing" : outcome === 1 ? "✓ as predicted" :
        outcome === 0 ? "✗ not as predicted" : `tie, counts as ${outcome}`;
      const spread = error === undefined ? "" : `, SE ${error.toFixed(2)}`;
      const size = bits === null ? "" : ` (${bits < 0 ? "−" : "+"}${Math.abs(bits).toFixed(2)} bits${spread})`;
      return html("li", {}, html("strong", {}, readable(suite().predictions[prediction])), `: ${verdict}${size}`);
    });
    at("outcomes").replaceChildren(html("ul", { class: "outcomes" }, ...list));
  }

  function written(bits) {
    return bits === null || bits === undefined ? "–" : bits < 0 ? "∞" : bits.toFixed(2);
  }

  function cell(place, word, top) {
    const variant = item().variants[place];
    const bits = (values()[place] || [])[word];
    const unseen = (((item().u || {})[runs.value] || [])[place] || []).includes(word);
    const critical = suite().critical.includes(variant.r[word]);
    const hasParse = Boolean((parses()[place] || {})[word]);
    const name = data.words[variant.w[word]];
    const chosen = state.variant === place && state.word === word;
    const node = html(hasParse ? "button" : "span", { class: "cell" },
      html("span", { class: "word" }, name), html("span", { class: "bits" }, written(bits)));
    node.style.setProperty("--shade", bits === null || bits === undefined ? 0 : bits < 0 ? 0.62 : (0.62 * bits / top).toFixed(3));
    node.classList.toggle("critical", critical);
    node.classList.toggle("unseen", unseen);
    if (unseen) node.title = "out of vocabulary";
    if (hasParse) {
      node.type = "button";
      node.dataset.variant = place;
      node.dataset.word = word;
      node.setAttribute("aria-pressed", chosen);
      node.setAttribute("aria-label", `${name}, ${written(bits)} bits${unseen ? ", out of vocabulary" : ""}: show parses`);
      node.tabIndex = chosen ? 0 : -1;
    }
    return node;
  }

  function showVariants() {
    const finite = values().flat().filter((bits) => bits !== null && bits >= 0);
    const top = Math.max(10, ...finite);
    const blocks = item().variants.map((variant, place) => {
      // The gloss belongs to the first variant, word by word.
      const glossed = place === 0 && item().g && item().g.length === variant.w.length;
      const words = variant.w.map((_, word) => {
        const starts = word === 0 || variant.r[word] !== variant.r[word - 1];
        return html("li", {}, html("span", { class: "region" }, starts ? readable(suite().regions[variant.r[word]]) : ""),
          cell(place, word, top), ...(glossed ? [html("span", { class: "gloss" }, item().g[word])] : []));
      });
      const swatch = html("span", { class: "swatch" });
      swatch.style.borderColor = `var(--series-${place % 8})`;
      const sum = criticalSum(place);
      return html("div", { class: "variant" },
        html("h4", {}, html("span", {}, swatch, label(place)),
          ...(sum === null ? [] : [html("span", { class: "sum" }, `critical region: ${sum} bits`)])),
        html("ol", { class: "words" }, ...words),
        ...(place === 0 && item().t ? [html("p", { class: "translation" }, item().t)] : []));
    });
    at("variants").replaceChildren(...blocks);
    // One tab stop per variant; arrow keys move within it.
    for (const block of blocks) {
      const buttons = block.querySelectorAll("button.cell");
      if (buttons.length && !block.querySelector('button.cell[tabindex="0"]')) buttons[0].tabIndex = 0;
    }
  }

  function criticalSum(place) {
    const found = item().variants[place].r
      .map((region, word) => (suite().critical.includes(region) ? (values()[place] || [])[word] : undefined))
      .filter((bits) => bits !== undefined);
    if (!found.length || found.includes(null)) return null;
    return found.some((bits) => bits < 0) ? "∞" : found.reduce((a, b) => a + b, 0).toFixed(2);
  }

  function showParses() {
    const place = at("parses");
    const list = (parses()[state.variant] || {})[state.word];
    if (!list) { place.replaceChildren(); return; }
    const word = data.words[item().variants[state.variant].w[state.word]];
    const title = html("h4", {}, `Best partial parses at “${word}”, ${label(state.variant)}`);
    const cards = list.map(([share, number]) => {
      const bar = html("span", {});
      bar.style.width = `${Math.round(100 * share)}%`;
      return html("div", { class: "parse" }, html("div", {}, `${(100 * share).toFixed(1)} % of the probability in the beam`),
        html("div", { class: "share" }, bar),
        html("div", { class: "scroll", tabindex: "0" }, tree(data.trees[number])));
    });
    place.replaceChildren(title, html("div", { class: "parses" }, ...cards));
  }

  function show() {
    const parsed = Object.keys(parses()).map(Number);
    if (!(parses()[state.variant] || {})[state.word]) {
      state.variant = parsed.length ? parsed[0] : null;
      state.word = parsed.length ? Math.max(...Object.keys(parses()[parsed[0]]).map(Number)) : null;
      const critical = parsed.length ? item().variants[parsed[0]].r.findIndex((r) => suite().critical.includes(r)) : -1;
      if (critical >= 0 && parses()[parsed[0]][critical]) state.word = critical;
    }
    showOutcomes();
    showVariants();
    const names = item().variants.map((_, place) => label(place));
    at("chart").replaceChildren(Chart.lines(suite(), item(), values(), data.words, names));
    showParses();
    at("help").textContent = "Numbers are surprisals in bits; stronger colours mean higher surprisal. The critical region is " +
      "underlined; words with a dotted underline are out of vocabulary." +
      (parsed.length ? " Select a word, or move with the arrow keys, to see its partial parses; dashed boxes are open constituents." : "");
    at("previous").disabled = items.selectedIndex <= 0;
    at("next").disabled = items.selectedIndex >= items.length - 1;
  }

  function step(by) {
    const next = items.selectedIndex + by;
    if (next < 0 || next >= items.length) return;
    items.selectedIndex = next;
    fillRuns();
    show();
  }

  function choose(button, focus) {
    state.variant = Number(button.dataset.variant);
    state.word = Number(button.dataset.word);
    showVariants();
    showParses();
    const again = root.querySelector('button.cell[aria-pressed="true"]');
    if (focus && again) again.focus();
  }

  function moveTo(button, key) {
    const all = Array.from(root.querySelectorAll("button.cell"));
    const same = all.filter((one) => one.dataset.variant === button.dataset.variant);
    const place = same.indexOf(button);
    if (key === "ArrowLeft") return same[place - 1];
    if (key === "ArrowRight") return same[place + 1];
    const by = key === "ArrowUp" ? -1 : 1;
    const others = all.filter((one) => Number(one.dataset.variant) === Number(button.dataset.variant) + by);
    return others[Math.min(place, others.length - 1)];
  }

  root.addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (button) choose(button, true);
  });
  root.addEventListener("keydown", (event) => {
    const button = event.target.closest("button.cell");
    if (!button || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    const next = moveTo(button, event.key);
    if (next) choose(next, true);
  });
  at("form").addEventListener("submit", (event) => event.preventDefault());
  suites.addEventListener("change", () => { fillItems(); fillRuns(); show(); });
  items.addEventListener("change", () => { fillRuns(); show(); });
  runs.addEventListener("change", show);
  at("previous").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));

  suites.replaceChildren(...data.suites.map((one, place) =>
    option(place, readable(one.name) + (one.total > one.items.length ? ` (${one.items.length} of ${one.total} items)` : ""))));
  fillItems();
  fillRuns();
  show();
})();
