// Folded chapters and parts open if a link or the address leads to something in them.
(function () {
  function open() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!target) return;
    const own = target.matches(".chapter") ? target.querySelector(":scope > details") : null;
    if (own) own.open = true;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", open);
  if (location.hash) open();
})();
