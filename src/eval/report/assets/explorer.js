// The item explorer: surprisals, outcomes and parses of the selected suite, item and model.
//
// It unpacks the data block "explorer-data" and hands plain variants to Cells, Chart and Drawing.parses. Its
// state is in the address: #explorer:suite=NAME&item=ID&model=NAME&corpus=NAME&seed=N&variant=0&word=3.
(function () {
  const root = document.getElementById("explorer-root");
  if (!root) return;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const { html } = Drawing;
  const MARK = "#explorer:";
  const at = (name) => document.getElementById(`explorer-${name}`);
  const suites = at("suite"), items = at("item"), runs = at("run");
  const state = { variant: null, word: null };

  const option = (value, text) => html("option", { value }, text);
  const readable = (name) => String(name).replaceAll("_", " ");
  const suite = () => data.suites[suites.value];
  const item = () => suite().items[items.value];
  const parses = () => (item().p || {})[runs.value] || {};
  const parsesAt = (place, word) => (parses()[place] || {})[word];
  const runName = (run) => run.model + (run.seed === null ? "" : ` · seed ${run.seed}`);
  const signed = (bits) => {
    const size = Math.abs(bits).toFixed(2);
    return `${Number(size) === 0 ? "" : bits < 0 ? "−" : "+"}${size} bits`;
  };

  function label(place) {
    const variant = item().variants[place];
    const several = item().variants.filter((one) => one.c === variant.c).length > 1;
    return readable(variant.c) + (several ? ` ${variant.v}` : "");
  }

  function glossOf(place) {
    const known = (item().g || [])[place] || [];
    return known.length ? known.map((number) => data.glosses[number]) : null;
  }

  function unpacked() {
    const values = item().s[runs.value] || [], unseen = (item().u || {})[runs.value] || [];
    return item().variants.map((variant, place) => {
      const regions = variant.r.map((region) => readable(suite().regions[region]));
      const gloss = glossOf(place), sum = criticalSum(variant, values[place] || []);
      return {
        label: label(place), words: variant.w.map((number) => data.words[number]), regions,
        bits: values[place] || [], unseen: variant.w.map((_, word) => (unseen[place] || []).includes(word)),
        parsed: variant.w.map((_, word) => Boolean(parsesAt(place, word))),
        ...(gloss ? { gloss } : {}), ...(place === 0 && item().t ? { translation: item().t } : {}),
        ...(sum === null ? {} : { note: `critical region: ${sum} bits` }),
      };
    });
  }

  function criticalSum(variant, bits) {
    const found = variant.r.map((region, word) => (suite().critical.includes(region) ? bits[word] : undefined))
      .filter((one) => one !== undefined);
    if (!found.length || found.includes(null)) return null;
    return found.some((one) => one < 0) ? "∞" : found.reduce((a, b) => a + b, 0).toFixed(2);
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
    const list = rows.map(([prediction, outcome, bits, error, near]) => {
      const verdict = outcome === null ? "missing" : near ? `no difference, counts as ${outcome}` :
        outcome === 1 ? "✓ as predicted" : outcome === 0 ? "✗ not as predicted" : `tie, counts as ${outcome}`;
      const spread = error === undefined || error === null ? "" : `, SE ${error.toFixed(2)}`;
      const size = bits === null ? "" : ` (${signed(bits)}${spread})`;
      return html("li", {}, html("strong", {}, readable(suite().predictions[prediction])), `: ${verdict}${size}`);
    });
    at("outcomes").replaceChildren(html("ul", { class: "outcomes" }, ...list));
  }

  // Every model with the mean difference of the item's predictions over its seeds; a click selects the model.
  function showModels() {
    const models = new Map();
    for (const [place, rows] of Object.entries(item().o || {})) {
      const run = data.runs[place], name = `${run.model}${run.corpus ? `, ${run.corpus}` : ""}`;
      if (!models.has(name)) models.set(name, { place, run, gaps: [], near: true });
      const known = rows.filter((row) => row[2] !== null);
      models.get(name).gaps.push(...known.map((row) => row[2]));
      if (!known.every((row) => row[4])) models.get(name).near = false;
    }
    const chosen = data.runs[runs.value];
    const corpora = new Set(Array.from(models.values(), (one) => one.run.corpus));
    const chips = Array.from(models.values(), ({ place, run, gaps, near }) => {
      const size = gaps.length ? signed(gaps.reduce((a, b) => a + b, 0) / gaps.length) : "–";
      const mean = gaps.length && near ? "≈ no difference" : size;
      const isChosen = run.model === chosen.model && run.corpus === chosen.corpus;
      const button = html("button", { type: "button", "aria-pressed": isChosen },
        html("strong", {}, run.model), ` ${corpora.size > 1 ? `${run.corpus} ` : ""}${mean}`);
      button.addEventListener("click", () => { runs.value = place; show(); });
      return html("li", {}, button);
    });
    const hadFocus = at("models").contains(document.activeElement);
    at("models").replaceChildren(html("li", { class: "note" }, "Mean difference in every model:"), ...chips);
    const pressed = at("models").querySelector('[aria-pressed="true"]');
    if (hadFocus && pressed) pressed.focus({ preventScroll: true });
  }

  // The y axis is the same for all models that were scored on the item.
  const commonTop = () => Chart.top(Object.values(item().s));

  // The parses of every variant at the chosen word, or at the last word up to the same column.
  function showParses(variants) {
    const place = at("parses");
    if (state.variant === null) { place.replaceChildren(); at("parse-title").textContent = ""; return; }
    const columns = Chart.columns(variants), here = columns[state.variant][state.word];
    const found = variants.map((variant, number) => {
      const words = variant.words.map((_, word) => word)
        .filter((word) => variant.parsed[word] && columns[number][word] <= here);
      const word = number === state.variant ? state.word : words[words.length - 1];
      return { variant, number, word, list: parsesAt(number, word) };
    }).filter((one) => one.list);
    at("parse-title").textContent = "Best partial parses, side by side";
    Drawing.parses(place, found.map(({ variant, number, word, list }) => ({
      title: `${variant.label}, at “${variant.words[word]}”`, colour: Chart.colour(number),
      parses: list.map(([share, tree]) => [share, data.trees[tree]]),
    })));
    const name = `${stem()}-parses`;
    const rows = found.flatMap(({ variant, word, list }) => list.map(([share, tree]) =>
      [variant.label, word + 1, variant.words[word], share, data.trees[tree]]));
    place.querySelectorAll(".parse-column").forEach((column, number) => {
      column.append(Downloads.bar(`${name}-${number + 1}`, { svg: () => column.querySelector("svg"),
        csv: () => Chart.table([["variant", "word_id", "word", "share", "tree"],
          ...rows.filter((row) => row[0] === found[number].variant.label)]) }));
    });
  }

  const stem = () => `${suite().name}-${item().id}-${data.runs[runs.value].model}`.replaceAll(/[^\w-]+/g, "_");

  // The first word of the critical region, in the first variant with parses.
  function chooseWord() {
    if (parsesAt(state.variant, state.word)) return;
    const parsed = Object.keys(parses()).map(Number);
    state.variant = parsed.length ? parsed[0] : null;
    state.word = null;
    if (!parsed.length) return;
    const critical = item().variants[parsed[0]].r.findIndex((region) => suite().critical.includes(region));
    state.word = parsesAt(parsed[0], critical) ? critical : Math.max(...Object.keys(parses()[parsed[0]]).map(Number));
  }

  function show() {
    chooseWord();
    at("title").textContent = `${readable(suite().name)}, item ${item().id}, ${runName(data.runs[runs.value])}`;
    const variants = unpacked(), critical = suite().critical.map((region) => readable(suite().regions[region]));
    const top = commonTop();
    const draw = () => {
      Cells.show(at("variants"), { variants, critical, top, chosen: state.variant === null ? null : state,
        onChoose: (variant, word) => { Object.assign(state, { variant, word }); draw(); remember(); } });
      showParses(variants);
    };
    showOutcomes();
    showModels();
    draw();
    Chart.show(at("chart"), { variants, critical, top });
    at("downloads").replaceChildren(Downloads.bar(stem(), { svg: () => at("chart").querySelector("svg"),
      csv: () => Chart.csv(variants) }));
    at("help").textContent = "Numbers are surprisals in bits; stronger colours mean higher surprisal. The critical region is " +
      "underlined; words with a dotted underline are out of vocabulary. The chart has the same axis for all models." +
      (state.variant === null ? "" : " Select a word, or move with the arrow keys, to see its partial parses; dashed boxes are open constituents.");
    at("previous").disabled = items.selectedIndex <= 0;
    at("next").disabled = items.selectedIndex >= items.length - 1;
    remember();
  }

  let isReady = false;
  function remember() {
    if (!isReady) return;
    const run = data.runs[runs.value];
    const known = { suite: suite().name, item: item().id, model: run.model, corpus: run.corpus, seed: run.seed, ...state };
    const filled = Object.entries(known).filter(([, value]) => value !== null && value !== "");
    history.replaceState(null, "", MARK + new URLSearchParams(filled));
  }

  // Selects what the address says; what it does not say, or what there is not, stays as it is.
  function recall() {
    if (!location.hash.startsWith(MARK)) return false;
    const given = new URLSearchParams(location.hash.slice(MARK.length));
    const found = data.suites.findIndex((one) => one.name === given.get("suite"));
    if (found < 0) return false;
    suites.value = found;
    fillItems();
    items.value = Math.max(0, suite().items.findIndex((one) => String(one.id) === given.get("item")));
    fillRuns();
    const run = data.runs.findIndex((one, place) => item().s[place] && one.model === given.get("model") &&
      one.corpus === (given.get("corpus") ?? "") && String(one.seed ?? "") === (given.get("seed") ?? ""));
    if (run >= 0) runs.value = run;
    const number = (name) => (given.has(name) ? Number(given.get(name)) : null);
    Object.assign(state, { variant: number("variant"), word: number("word") });
    show();
    document.getElementById("explorer").scrollIntoView();
    return true;
  }

  function openBest() {
    const { suite: best, item: place, run } = data.open || { suite: 0, item: 0, run: null };
    suites.value = best;
    fillItems();
    items.value = place;
    fillRuns();
    if (run !== null) runs.value = run;
    show();
  }

  function step(by) {
    const next = items.selectedIndex + by;
    if (next < 0 || next >= items.length) return;
    items.selectedIndex = next;
    fillRuns();
    show();
  }

  at("form").addEventListener("submit", (event) => event.preventDefault());
  suites.addEventListener("change", () => { fillItems(); fillRuns(); show(); });
  items.addEventListener("change", () => { fillRuns(); show(); });
  runs.addEventListener("change", show);
  at("previous").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));
  function isInView() {
    const box = root.getBoundingClientRect(), middle = window.innerHeight / 2;
    return box.top < middle && box.bottom > middle;
  }

  // Outside of words and lists, left and right move from item to item.
  document.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    const isHere = root.contains(event.target) ? !event.target.closest("select, input, .scroll") :
      event.target === document.body && isInView();
    if (!isHere) return;
    event.preventDefault();
    step(event.key === "ArrowLeft" ? -1 : 1);
  });
  window.addEventListener("hashchange", recall);

  suites.replaceChildren(...data.suites.map((one, place) =>
    option(place, readable(one.name) + (one.total > one.items.length ? ` (${one.items.length} of ${one.total} items)` : ""))));
  if (!recall()) openBest();
  isReady = true;
})();
