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
  let running = null, asking = 0, timer = null, drawing = false, last = null;

  // ---- server ----------------------------------------------------------------------------------

  async function post(path, content, signal) {
    const answer = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
    });
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw new Error(said.error || `the server answered ${answer.status}`);
  }

  async function* lines(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) if (part) yield JSON.parse(part);
    }
  }

  function complain(message) {
    at("problem").textContent = message || "";
    at("problem").hidden = !message;
  }

  // ---- models ----------------------------------------------------------------------------------

  const ticked = () => Array.from(at("models").querySelectorAll("input:checked"), (box) => box.value);
  const known = (name) => page.models.find((one) => one.name === name);

  function titleOf(model) {
    const corpus = model.corpus ? ` · ${model.corpus}` : "";
    const title = model.model + corpus + (model.seed === null || model.adopted ? "" : ` · seed ${model.seed}`);
    const same = page.models.filter((one) => one.model === model.model && one.corpus === model.corpus && one.seed === model.seed);
    return same.length > 1 ? `${title} (${model.name})` : title;
  }

  function showModels(chosen) {
    const groups = new Map();
    for (const model of page.models) {
      const group = model.adopted ? "models of others" : model.corpus || "models";
      if (!groups.has(group)) groups.set(group, []);
      const box = html("input", { type: "checkbox", value: model.name });
      box.checked = chosen.includes(model.name);
      groups.get(group).push(html("label", { class: "tick", title: model.name }, box, " ", titleOf(model)));
    }
    at("models").replaceChildren(...Array.from(groups, ([group, boxes]) =>
      html("div", { class: "ticks", role: "group", "aria-label": group }, ...boxes)));
  }

  // Without a choice: the models of the first corpus if they are few, else one that parses and one that does not.
  function usual() {
    const same = page.models.filter((model) => model.corpus === page.models[0].corpus);
    if (same.length <= 3) return same.map((one) => one.name);
    const found = [same.find((model) => model.syntactic), same.find((model) => !model.syntactic)];
    return found.filter(Boolean).map((one) => one.name);
  }

  async function add() {
    const reference = at("reference").value.trim();
    if (!reference) return;
    at("add-note").textContent = "looking for it …";
    try {
      const model = await (await post("/api/models", { reference })).json();
      if (!known(model.name)) page.models.push(model);
      showModels([...ticked(), model.name]);
      at("add-note").textContent = `${titleOf(model)} is ticked`;
      at("reference").value = "";
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

  async function lookNow() {
    const number = ++asking;
    const given = texts(), runs = ticked();
    complain(tooLong());
    if (tooLong() || !given.length || !runs.length) { showSeen({}); return; }
    try {
      const found = await (await post("/api/seen", { runs, sentences: given })).json();
      if (number === asking) showSeen(found);
    } catch (error) {
      if (number === asking) complain(error.message);
    }
  }

  function showSeen(found) {
    const models = Object.entries(found).filter(([, one]) => one.words);
    let given = 0;
    inputs.forEach((input) => {
      const place = at(`${input.id}-seen`);
      if (!input.value.trim() || !models.length) { place.replaceChildren(); return; }
      const number = given++;
      const words = models[0][1].words[number] || [];
      // Models may divide a text into words in different ways; those that do not agree with the first are left out.
      const alike = models.filter(([, one]) => (one.words[number] || []).length === words.length);
      const unknown = words.map((_, word) => alike.filter(([, one]) => one.seen[number][word] === false).map(([name]) => titleOf(known(name))));
      const shown = words.flatMap((word, w) => {
        if (!unknown[w].length) return [word, " "];
        return [html("mark", { title: `unknown to ${unknown[w].join(", ")}` }, word), " "];
      });
      const count = unknown.filter((one) => one.length).length;
      place.replaceChildren(...shown, ...(count ? [html("span", { class: "note" }, `· ${count} unknown`)] : []));
    });
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
    try {
      const answer = await post("/api/surprisal", { runs, sentences: given }, mine.signal);
      for await (const event of lines(answer)) {
        if (event.name && HANDLERS[event.type]) HANDLERS[event.type](results.get(event.name), event);
        draw();
      }
    } catch (error) {
      if (error.name !== "AbortError" && running === mine) complain(error.message);
    } finally {
      if (running === mine) { running = null; busy(false); draw(); }
    }
  }

  function stop() {
    if (running) running.abort();
    running = null;
    busy(false);
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

  function settle() {
    const one = results.get(state.name);
    if (!one || !one.variants.length) return;
    state.variant = Math.min(state.variant, one.variants.length - 1);
    state.place = Math.min(state.place, one.variants[state.variant].cells.length - 1);
  }

  function drawNow() {
    const all = Array.from(results.values());
    at("results").hidden = !all.length;
    settle();
    const hadFocus = document.activeElement && document.activeElement.closest(".cell");
    const most = Cards.top(all);
    at("cards").replaceChildren(...all.map((one) => Cards.card(one, one.name === state.name ? state : { name: state.name }, most)));
    const buttons = at("cards").querySelectorAll("button.cell");
    if (buttons.length && !at("cards").querySelector('button.cell[tabindex="0"]')) buttons[0].tabIndex = 0;
    if (hadFocus) focusChosen();
  }

  function focusChosen() {
    const chosen = at("cards").querySelector('button.cell[aria-pressed="true"]');
    if (chosen) chosen.focus();
  }

  function choose(name, variant, place) {
    Object.assign(state, { name, variant, place, auto: false });
    remember();
    drawNow();
    focusChosen();
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

  // After the sign #, which browsers never send.
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
    showModels(found.getAll("run").filter(known).length ? found.getAll("run") : usual());
    const whole = (name) => Math.max(0, Number.parseInt(found.get(name), 10) || 0);
    Object.assign(state, { name: found.get("at"), variant: Math.min(1, whole("variant")), place: whole("word"), auto: !found.has("at") });
    return texts().length > 0;
  }

  // ---- examples and copying --------------------------------------------------------------------

  function showExamples() {
    page.examples.forEach((one, number) => at("examples").append(html("option", { value: number }, `${one.title}: ${one.first}`)));
  }

  function useExample() {
    const one = page.examples[at("examples").value];
    if (!one) return;
    inputs[0].value = one.first;
    inputs[1].value = one.second || "";
    at("example-note").textContent = one.note || "";
    const fitting = ticked().filter((name) => !known(name).language || known(name).language === one.language);
    if (!fitting.length) showModels(page.models.filter((model) => model.language === one.language).slice(0, 2).map((model) => model.name));
    state.auto = true;
    lookNow();
    if (ticked().length) compute();
  }

  const finished = () => Array.from(results.values()).filter((one) => one.variants.length && !one.error);
  const chosen = () => finished().find((one) => one.name === state.name) || finished()[0];

  async function copy(what, content) {
    try {
      await navigator.clipboard.write([new ClipboardItem(content)]);
      at("copied").textContent = `${what} copied`;
    } catch (error) {
      at("copied").textContent = `the browser does not let the page copy: ${error.message}`;
    }
  }

  const plain = (text) => ({ "text/plain": new Blob([text], { type: "text/plain" }) });

  function languageOf(one) {
    return known(one.name).language || (/[\u3400-\u9fff]/.test(texts().join("")) ? "zh" : "en");
  }

  async function copyPicture() {
    const one = chosen();
    const card = Array.from(document.querySelectorAll(".card")).find((node) => node.dataset.name === one.name);
    const image = await Copying.png(Copying.picture(one, card));
    const link = at("save-picture");
    if (link.href) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(image);
    link.hidden = false;
    await copy("picture", { "image/png": image });
  }

  const COPIES = {
    yaml: () => copy("YAML item", plain(Copying.yaml(chosen(), state, languageOf(chosen())))),
    tsv: () => copy("table", plain(Copying.tsv(finished(), page.columns))),
    picture: copyPicture,
    link: () => copy("link", plain(location.href)),
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
  at("models").addEventListener("change", () => { remember(); look(); });
  for (const input of inputs) input.addEventListener("input", () => { at("example-note").textContent = ""; look(); });
  at("cards").addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (button) choose(button.closest(".card").dataset.name, Number(button.dataset.variant), Number(button.dataset.word));
  });
  at("cards").addEventListener("keydown", (event) => {
    if (!event.target.closest("button.cell") || !/^Arrow(Left|Right|Up|Down)$/.test(event.key)) return;
    event.preventDefault();
    move(event.key);
  });
  window.addEventListener("hashchange", () => { if (recall()) { lookNow(); compute(); } });

  async function begin() {
    Object.assign(page, await (await fetch("/api/models")).json());
    at("version").textContent = page.version;
    showExamples();
    if (recall()) { lookNow(); compute(); }
    if (page.skipped.length) at("add-note").textContent = `left out: ${page.skipped.join("; ")}`;
  }

  begin().catch((error) => complain(error.message));
})();
