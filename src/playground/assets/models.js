// The models that can be ticked.
//
//   Models.title(model, all)             the name that the page shows, with its path if others have the same name
//   Models.show(container, all, chosen)  boxes to tick, grouped by corpus; those whose names are chosen are ticked
//   Models.usual(all)                    the names that are ticked if nothing was chosen
const Models = (function () {
  const { html } = Drawing;

  function title(model, all) {
    const same = all.filter((one) => one.model === model.model && one.corpus === model.corpus && one.seed === model.seed);
    const where = model.adopted ? "" : (model.corpus ? ` · ${model.corpus}` : "") + (model.seed === null ? "" : ` · seed ${model.seed}`);
    return model.model + where + (same.length > 1 ? ` (${model.name})` : "");
  }

  function show(container, all, chosen) {
    const groups = new Map();
    for (const model of all) {
      const group = model.adopted ? "models of others" : model.corpus || "models";
      if (!groups.has(group)) groups.set(group, []);
      const box = html("input", { type: "checkbox", value: model.name });
      box.checked = chosen.includes(model.name);
      groups.get(group).push(html("label", { class: "tick", title: model.name }, box, " ", title(model, all)));
    }
    container.replaceChildren(...Array.from(groups, ([group, boxes]) =>
      html("div", { class: "ticks", role: "group", "aria-label": group }, ...boxes)));
  }

  // The models of the first corpus if they are few, else one that parses and one that does not.
  function usual(all) {
    const same = all.filter((model) => model.corpus === all[0].corpus);
    if (same.length <= 3) return same.map((one) => one.name);
    const found = [same.find((model) => model.syntactic), same.find((model) => !model.syntactic)];
    return found.filter(Boolean).map((one) => one.name);
  }

  return { title, show, usual };
})();
