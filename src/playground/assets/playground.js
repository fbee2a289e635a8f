// The page: what is typed and ticked, requests to the server, and the state in the address.
(function () {
  const { html } = Drawing;
  const at = (name) => document.getElementById(name);
  const inputs = [at("first"), at("second")];
  const SEEN_DELAY = 150;
  const page = { models: [], columns: [], examples: [], limits: { characters: Infinity } };
  const results = new Map();
  // The chosen word; ``auto`` until somebody has chosen one.
  const state = { name: null, variant: 0, place: 0, auto: true };
  let running = null, asking = 0, timer = null, drawing = false, last = null, fitting = 0, untouched = true;

  function complain(message) {
    at("problem").textContent = message || "";
    at("problem").hidden = !message;
  }

  // ---- models ----------------------------------------------------------------------------------

  const ticked = () => Array.from(at("models").querySelectorAll("input:checked"), (box) => box.value);
  const known = (name) => page.models.find((one) => one.name === name);
  const titleOf = (model) => Models.title(model, page.models);
  const showModels = (chosen) => Models.show(at("models"), page.models, chosen);

  async function add() {
    const reference = at("reference").value.trim();
    if (!reference) return;
    at("add-note").textContent = "looking for it …";
    try {
      const { models } = await (await Server.post("/api/models", { reference })).json();
      page.models.push(...models.filter((model) => !known(model.name)));
      // A folder may have many runs; one that was named is meant.
      const added = models.length === 1 ? `${titleOf(models[0])} is ticked` : `${models.length} models are in the list`;
      showModels([...ticked(), ...(models.length === 1 ? [models[0].name] : [])]);
      at("add-note").textContent = added;
      at("reference").value = "";
      fit();
      look();
    } catch (error) {
      at("add-note").textContent = error.message;
    }
  }

  // ---- unknown words while typing --------------------------------------------------------------

  function texts() {
    return inputs.map((input) => input.value.trim()).filter(Boolean);
  }

  function tooLong() {
    const long = inputs.find((input) => input.value.trim().length > page.limits.characters);
    if (!long) return "";
    return `This sentence has ${long.value.trim().length.toLocaleString("en")} characters; the playground takes at most ` +
      `${page.limits.characters.toLocaleString("en")}. Longer texts are scored by python evaluate.py task=surprisal input=FILE.`;
  }

  function look() {
    clearTimeout(timer);
    timer = setTimeout(lookNow, SEEN_DELAY);
  }

  function showSeen(found) {
    const models = Object.entries(found).filter(([, one]) => one.words).map(([name, one]) => ({ ...one, title: titleOf(known(name)) }));
    const typed = inputs.filter((input) => input.value.trim());
    for (const input of inputs) Seen.show(at(`${input.id}-seen`), models, typed.indexOf(input));
  }

  async function lookNow() {
    const number = ++asking;
    const given = texts(), runs = ticked();
    complain(tooLong());
    if (tooLong() || !given.length || !runs.length) { showSeen({}); return; }
    try {
      const found = await (await Server.post("/api/seen", { runs, sentences: given })).json();
      if (number === asking) showSeen(found);
    } catch (error) {
      if (number === asking) complain(error.message);
    }
  }

  // ---- computing -------------------------------------------------------------------------------

  const HANDLERS = {
    waiting: (one) => { one.state = "waiting for its turn …"; },
    loading: (one) => { one.state = "loading …"; },
    start: (one, event) => {
      one.state = "computing …";
      one.warning = event.warning;
      one.variants = event.words.map((words, variant) => ({
        parses: words.map(() => []),
        cells: [...words.map((word, place) => ({
          word, seen: event.seen[variant][place], seen_as: event.seen_as[variant][place], bits: null, done: false })),
        { word: "</s>", seen: true, seen_as: "</s>", bits: null, done: false }],
      }));
    },
    word: (one, event) => {
      const variant = one.variants[event.variant];
      Object.assign(variant.cells[event.word], { bits: event.bits, columns: event.columns, done: true });
      variant.parses[event.word] = event.parses;
      if (state.auto && one.name === state.name && event.variant === 0) Object.assign(state, { variant: 0, place: event.word });
    },
    result: (one, event) => {
      one.run = event.run;
      one.failures = event.failures;
      one.variants = event.variants.map((variant) => ({ ...variant, cells: variant.cells.map((cell) => ({ ...cell, done: true })) }));
      one.state = "";
      if (state.auto && one.name === state.name) Object.assign(state, { variant: 0, place: Cards.mostTelling(one) ?? state.place });
    },
    error: (one, event) => { one.error = event.message; one.state = ""; },
  };

  async function compute() {
    stop();
    complain("");
    const runs = ticked(), given = texts();
    if (tooLong()) { complain(tooLong()); return; }
    if (!given.length) { complain("Type a sentence, or choose an example."); return; }
    if (!runs.length) { complain("Tick at least one model."); return; }
    if (given.join("\n") !== last) state.auto = state.auto || last !== null;
    last = given.join("\n");
    remember();
    results.clear();
    for (const name of runs) {
      const model = known(name);
      results.set(name, { name, title: titleOf(model), run: model.run, measure: model.measure, syntactic: model.syntactic, variants: [], state: "…" });
    }
    if (!results.has(state.name)) {
      Object.assign(state, { name: runs.find((name) => known(name).syntactic) || runs[0], auto: true });
    }
    const mine = running = new AbortController();
    busy(true);
    drawNow();
    showResults();
    try {
      const answer = await Server.post("/api/surprisal", { runs, sentences: given }, mine.signal);
      for await (const event of Server.lines(answer)) {
        if (event.name && HANDLERS[event.type]) HANDLERS[event.type](results.get(event.name), event);
        draw();
      }
    } catch (error) {
      if (error.name !== "AbortError" && running === mine) complain(error.message);
    } finally {
      if (running === mine) settleDown();
    }
  }

  function stop() {
    if (running) running.abort();
    settleDown();
  }

  // Whoever has no result now will have none.
  function settleDown() {
    running = null;
    busy(false);
    for (const one of results.values()) if (one.state) one.state = "stopped";
    draw();
  }

  function busy(isBusy) {
    at("stop").hidden = !isBusy;
    at("status").textContent = isBusy ? "computing …" : "";
    document.body.setAttribute("aria-busy", String(isBusy));
  }

  // ---- drawing ---------------------------------------------------------------------------------

  function draw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; drawNow(); });
  }

  // With many models the results begin below the window.
  function showResults() {
    if (at("results").getBoundingClientRect().top < 0.6 * window.innerHeight) return;
    const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    at("results").scrollIntoView({ behavior: isCalm ? "auto" : "smooth" });
  }

  function settle() {
    const one = results.get(state.name);
    if (!one || !one.variants.length) return;
    state.variant = Math.min(state.variant, one.variants.length - 1);
    state.place = Math.min(state.place, one.variants[state.variant].cells.length - 1);
  }

  function drawNow() {
    const all = Array.from(results.values());
    at("results").hidden = at("skip").hidden = !all.length;
    settle();
    const hadFocus = document.activeElement && document.activeElement.closest(".cell");
    const restore = Keeping.of(at("cards"));
    const most = Cards.top(all);
    at("cards").replaceChildren(...all.map((one) => Cards.card(one, one.name === state.name ? state : { name: state.name }, most)));
    const buttons = at("cards").querySelectorAll("button.cell");
    if (buttons.length && !at("cards").querySelector('button.cell[tabindex="0"]')) buttons[0].tabIndex = 0;
    restore();
    const cell = at("cards").querySelector('button.cell[aria-pressed="true"]');
    if (cell && !running) Keeping.reveal(cell);
    if (hadFocus) focusChosen({ preventScroll: true });
  }

  function focusChosen(how) {
    const chosen = at("cards").querySelector('button.cell[aria-pressed="true"]');
    if (chosen) chosen.focus(how);
  }

  function choose(name, variant, place) {
    const isSameRow = name === state.name && variant === state.variant;
    Object.assign(state, { name, variant, place, auto: false });
    remember();
    drawNow();
    focusChosen({ preventScroll: isSameRow });
  }

  // Left and right: the words of a variant. Up and down: the same column of the other variant, or the next model.
  function move(key) {
    const one = results.get(state.name);
    if (!one || !one.variants.length) return;
    const cells = one.variants[state.variant].cells;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const next = state.place + (key === "ArrowLeft" ? -1 : 1);
      if (next >= 0 && next < cells.length) choose(state.name, state.variant, next);
      return;
    }
    const by = key === "ArrowUp" ? -1 : 1;
    const rows = Array.from(results.values()).filter((each) => each.variants.length)
      .flatMap((each) => each.variants.map((_, variant) => [each.name, variant]));
    const target = rows[rows.findIndex(([name, variant]) => name === state.name && variant === state.variant) + by];
    if (!target) return;
    choose(target[0], target[1], placeIn(one, target));
  }

  function placeIn(from, [name, variant]) {
    const columns = Cards.columnsOf(from);
    const column = columns.findIndex((one) => one.words[state.variant] === state.place);
    const other = results.get(name);
    const place = (Cards.columnsOf(other)[column] || { words: [] }).words[variant];
    return place ?? Math.min(state.place, other.variants[variant].cells.length - 1);
  }

  // ---- state in the address --------------------------------------------------------------------

  // After the sign #, which browsers never send. A link may name models that are not in the list.
  function remember() {
    const found = new URLSearchParams();
    inputs.forEach((input) => { if (input.value.trim()) found.set(input.id, input.value.trim()); });
    for (const name of ticked()) found.append("run", name);
    if (state.name && !state.auto) { found.set("at", state.name); found.set("variant", state.variant); found.set("word", state.place); }
    history.replaceState(null, "", `#${found}`);
  }

  function recall() {
    const found = new URLSearchParams(location.hash.slice(1));
    inputs.forEach((input) => { input.value = found.get(input.id) || ""; });
    const runs = found.getAll("run"), missing = runs.filter((name) => !known(name));
    showModels(runs.length > missing.length ? runs : Models.usual(page.models));
    if (missing.length) {
      at("more").open = true;
      at("reference").value = missing[0];
      at("add-note").textContent = `The link names ${missing.join(", ")}, not in the list yet: add it here.`;
    }
    const whole = (name) => Math.max(0, Number.parseInt(found.get(name), 10) || 0);
    Object.assign(state, { name: found.get("at"), variant: Math.min(1, whole("variant")), place: whole("word"), auto: !found.has("at") });
    return texts().length > 0;
  }

  // ---- examples and copying --------------------------------------------------------------------

  // The examples for the models that are ticked; those that fit come first.
  async function fit() {
    const number = ++fitting;
    const { examples } = await (await Server.post("/api/examples", { runs: ticked(), sentences: [] })).json();
    if (number !== fitting) return;
    page.examples = examples;
    Examples.show(at("examples"), examples, "choose one …");
    const typed = inputs.map((input) => input.value.trim());
    const same = examples.findIndex((one) => one.first === typed[0] && one.second === typed[1]);
    if (same >= 0) { at("examples").value = String(same); at("example-note").textContent = examples[same].note; }
  }

  function fill(one) {
    inputs[0].value = one.first;
    inputs[1].value = one.second;
    at("example-note").textContent = one.note;
    state.auto = true;
  }

  function useExample() {
    const one = page.examples[at("examples").value];
    if (!one) return;
    fill(one);
    const speaks = (model) => !model.language || model.language === one.language;
    if (!ticked().some((name) => speaks(known(name)))) {
      showModels(page.models.filter(speaks).slice(0, 2).map((model) => model.name));
      fit();
    }
    lookNow();
    if (ticked().length) compute();
  }

  // A newcomer finds a garden path in the page, and need only press the button.
  function offerFirst() {
    if (!untouched || texts().length || !page.examples.length || page.examples[0].unknown !== 0) return;
    fill(page.examples[0]);
    at("examples").value = "0";
    lookNow();
  }

  const finished = () => Array.from(results.values()).filter((one) => one.variants.length && !one.error);
  const chosen = () => finished().find((one) => one.name === state.name) || finished()[0];

  async function copy(what, make) {
    try {
      const content = await make();
      await navigator.clipboard.write([new ClipboardItem(content)]);
      at("copied").textContent = `${what} copied`;
    } catch (error) {
      const why = error.name === "NotAllowedError" ? "the browser does not let the page copy: " : "";
      at("copied").textContent = `not copied: ${why}${error.message}`;
    }
  }

  const plain = (text) => ({ "text/plain": new Blob([text], { type: "text/plain" }) });

  function languageOf(one) {
    return known(one.name).language || (/[\u3400-\u9fff]/.test(texts().join("")) ? "zh" : "en");
  }

  async function picture() {
    const one = chosen();
    const card = Array.from(document.querySelectorAll(".card")).find((node) => node.dataset.name === one.name);
    const image = await Copying.png(Copying.picture(one, card));
    const link = at("save-picture");
    if (link.href) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(image);
    link.hidden = false;
    return { "image/png": image };
  }

  const COPIES = {
    yaml: () => copy("YAML item", () => plain(Copying.yaml(chosen(), state, languageOf(chosen())))),
    tsv: () => copy("table", () => plain(Copying.tsv(finished(), page.columns))),
    picture: () => copy("picture", picture),
    link: () => copy("link", () => plain(location.href)),
  };

  // ---- events ----------------------------------------------------------------------------------

  for (const [name, act] of Object.entries(COPIES)) {
    at(`copy-${name}`).addEventListener("click", () => { if (chosen()) act(); });
  }
  at("form").addEventListener("submit", (event) => { event.preventDefault(); compute(); });
  at("stop").addEventListener("click", stop);
  at("add").addEventListener("click", add);
  at("reference").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); add(); }
  });
  at("examples").addEventListener("change", useExample);
  at("models").addEventListener("change", () => { remember(); look(); fit().catch((error) => complain(error.message)); });
  for (const input of inputs) {
    input.addEventListener("input", () => {
      untouched = false;
      at("example-note").textContent = at("examples").value = "";
      look();
    });
  }
  // A jump to #results would be taken for a state of the page.
  at("skip").addEventListener("click", (event) => { event.preventDefault(); at("results").focus(); });
  at("cards").addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (button) choose(button.closest(".card").dataset.name, Number(button.dataset.variant), Number(button.dataset.word));
  });
  // Left and right also work after a click on a tree or a fold; regions that scroll and fields keep their keys.
  document.addEventListener("keydown", (event) => {
    const isCell = event.target.closest("button.cell"), isFree = event.target === document.body || event.target.closest(".card summary");
    if (!/^Arrow(Left|Right|Up|Down)$/.test(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!isCell && !(isFree && results.size && /Left|Right/.test(event.key))) return;
    event.preventDefault();
    move(event.key);
  });
  window.addEventListener("hashchange", () => { if (recall()) { lookNow(); compute(); } });

  async function begin() {
    Object.assign(page, await (await fetch("/api/models")).json());
    at("version").textContent = page.version;
    if (page.skipped.length) at("skipped").replaceChildren(...page.skipped.map((reason) => html("li", {}, reason)));
    at("skipped-runs").hidden = !page.skipped.length;
    if (recall()) { lookNow(); compute(); }
    await fit();
    offerFirst();
  }

  begin().catch((error) => complain(error.message));
})();
