// What every page can do beyond plain HTML: copy buttons, and keys. Without this file all
// pages work; only these two are missing. It fetches nothing and makes no HTML.

const announce = (text) => {
  const place = document.getElementById("announce");
  if (place) place.textContent = text;
};

// Browsers offer the clipboard only to pages of HTTPS and of this machine, and may refuse it.
const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // The older way, below.
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser refuses to copy");
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy[data-copy]");
  if (!button) return;
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  try {
    await copyText(button.dataset.copy);
    button.textContent = "Copied";
    announce("Copied");
  } catch {
    button.textContent = "Not copied";
    announce("Not copied: select the text and copy it");
  }
  setTimeout(() => {
    button.textContent = label;
  }, 1500);
});

// Keys: "/" goes to the search field, "g" and one of these letters to a page.
const PAGES = {
  s: "skills",
  p: "playground",
  r: "runs",
  c: "containers",
  u: "usage",
  k: "keys",
  v: "providers",
  a: "audit",
  e: "settings",
};

const isTyping = (target) =>
  target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);

let goPressedAt = -Infinity;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target.type === "search") {
    event.target.blur();
    return;
  }
  if (isTyping(event.target)) return;
  if (event.key === "/") {
    const search = document.querySelector("main input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
    return;
  }
  if (event.key === "g") {
    goPressedAt = event.timeStamp;
    return;
  }
  const goes = event.timeStamp - goPressedAt < 1500;
  goPressedAt = -Infinity;
  if (!goes || !Object.hasOwn(PAGES, event.key)) return;
  // A page that the visitor may not open has no link.
  const link = document.querySelector(`nav a[href="/console/${PAGES[event.key]}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
