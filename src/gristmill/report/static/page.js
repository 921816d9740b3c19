// Theme, links into folded blocks, and the copy button.
"use strict";
(() => {
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");

  // A page opened from disk may be refused storage; the toggle then lasts as long as the page.
  const storage = (() => {
    try {
      return window.localStorage;
    } catch (error) {
      if (error instanceof DOMException) return null;
      throw error;
    }
  })();

  const show = (theme) => {
    root.dataset.theme = theme;
    button.lastElementChild.textContent = theme;
    button.setAttribute("aria-label", `Theme: ${theme}. Press to change.`);
  };
  const kept = storage && storage.getItem("gristmill-theme");
  show(themes.includes(kept) ? kept : "auto");
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    show(next);
    if (storage) storage.setItem("gristmill-theme", next);
  });

  // A link to a folded block opens it and every fold around it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    // Following the same link twice changes no hash.
    if (link && link.getAttribute("href") === location.hash) open();
  });
  open();

  const copy = document.getElementById("copy");
  if (!copy) return;
  const list = document.getElementById("good");
  const said = document.getElementById("copied");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(list.textContent);
      said.textContent = "Copied";
    } catch {
      // Without permission the list is selected, so that one keystroke copies it.
      const range = document.createRange();
      range.selectNodeContents(list);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      list.focus();
      said.textContent = "Selected: press Ctrl+C or ⌘C";
    }
  });
})();
