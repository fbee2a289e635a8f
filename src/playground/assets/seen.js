// The words of what is typed, as the models' corpora write them; unknown ones are marked.
//
//   Seen.show(element, models, number)   fills the element with the words of sentence `number`; -1: with nothing
//
// models: [{ title, words, seen }, …], as the server tells them for each sentence.
const Seen = (function () {
  const { html } = Drawing;

  function show(element, models, number) {
    if (number < 0 || !models.length) { element.replaceChildren(); return; }
    const words = models[0].words[number] || [];
    // Models may divide a text into words in different ways; those that do not agree with the first are left out.
    const alike = models.filter((one) => (one.words[number] || []).length === words.length);
    const unknown = words.map((_, word) => alike.filter((one) => one.seen[number][word] === false).map((one) => one.title));
    const shown = words.flatMap((word, w) => {
      if (!unknown[w].length) return [word, " "];
      return [html("mark", { title: `unknown to ${unknown[w].join(", ")}` }, word), " "];
    });
    const count = unknown.filter((one) => one.length).length;
    const all = unknown.every((one) => !one.length || one.length === models.length);
    const who = all ? "" : ` to ${Array.from(new Set(unknown.flat())).join(", ")}`;
    element.replaceChildren(...shown, ...(count ? [html("span", { class: "note" }, `· ${count} unknown${who}`)] : []));
  }

  return { show };
})();
