// The list of examples: those whose words the ticked models know come first.
//
//   Examples.show(select, examples, title)   fills the list; the first entry has the given title
const Examples = (function () {
  const { html } = Drawing;

  function groupOf(example) {
    if (example.unknown === null) return "in another language than the ticked models";
    return example.unknown ? "with words that a ticked model does not know" : "all words known";
  }

  function show(select, examples, title) {
    const groups = new Map();
    examples.forEach((one, number) => {
      const name = groupOf(one);
      if (!groups.has(name)) groups.set(name, html("optgroup", { label: name }));
      const count = one.unknown ? ` (${one.unknown} unknown)` : "";
      groups.get(name).append(html("option", { value: number }, `${one.title}: ${one.first}${count}`));
    });
    select.replaceChildren(html("option", { value: "" }, title), ...groups.values());
  }

  return { show };
})();
