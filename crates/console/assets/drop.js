// The upload page: folders and files that are dropped are sent with their paths and checked
// without leaving the page. Without this script the form does the same for chosen files.

const form = document.getElementById("drop");
const result = document.getElementById("result");
const hint = document.getElementById("drop-hint");

// Folders that no skill needs.
const SKIPPED = new Set([".git", "node_modules", "__pycache__", ".venv"]);
const MAX_FILES = 4000;

/** All entries of a folder: browsers return them in batches. */
async function entriesOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return all;
    all.push(...batch);
  }
}

/** Adds the files below an entry, with their paths. */
async function collect(entry, path, files) {
  if (files.length > MAX_FILES) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    files.push([path + entry.name, file]);
  } else if (!SKIPPED.has(entry.name)) {
    for (const inner of await entriesOf(entry)) {
      await collect(inner, `${path}${entry.name}/`, files);
    }
  }
}

/** Sends files to be checked and shows what the checks said. */
async function check(files) {
  if (files.length === 0) return;
  const data = new FormData();
  const skill = form.querySelector("input[name=skill]");
  if (skill) data.append("skill", skill.value);
  for (const [path, file] of files) data.append("files[]", file, path);
  form.setAttribute("aria-busy", "true");
  hint.textContent = files.length === 1 ? "Checking 1 file …" : `Checking ${files.length} files …`;
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: data,
      headers: { "HX-Request": "true" },
    });
    const redirect = response.headers.get("HX-Redirect");
    if (redirect) {
      location.assign(redirect);
      return;
    }
    // Made and escaped by the server, as every page is.
    result.innerHTML = await response.text();
    hint.textContent = "Drop it again after a change, or choose other files:";
  } catch {
    hint.textContent = "The files could not be sent. Is the server still there?";
  } finally {
    form.removeAttribute("aria-busy");
  }
  result.focus();
}

if (form && result && hint) {
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("drop-over");
  });
  for (const name of ["dragleave", "drop"]) {
    form.addEventListener(name, () => form.classList.remove("drop-over"));
  }
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    // The list is emptied as soon as this function waits.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
    const plain = [...event.dataTransfer.files];
    const files = [];
    for (const entry of entries) {
      if (entry) await collect(entry, "", files);
    }
    if (files.length === 0) files.push(...plain.map((file) => [file.name, file]));
    await check(files);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
    await check(chosen.map((file) => [file.webkitRelativePath || file.name, file]));
  });
}
