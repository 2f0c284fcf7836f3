#!/usr/bin/env node
// Starts the binary of this platform; passes arguments, signals and exit codes on.
"use strict";
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

// A package with a binary that needs glibc has this name; one that needs no C library, another.
const name = `prowess-${process.platform}-${process.arch}`;

function find(path) {
  try {
    return require.resolve(path);
  } catch {
    return undefined;
  }
}

// The version of glibc that Node runs with; undefined with another C library.
function hostGlibc() {
  try {
    process.report.excludeNetwork = true;
    return process.report.getReport().header.glibcVersionRuntime;
  } catch {
    return undefined;
  }
}

function isAtLeast(version, needed) {
  const [[major, minor], [neededMajor, neededMinor]] = [version, needed].map((text) =>
    String(text).split(".").map(Number)
  );
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

function choose() {
  const withGlibc = find(`${name}/bin/prowess`);
  const withoutLibrary = find(`${name}-musl/bin/prowess`);
  if (!withGlibc || !withoutLibrary) return withGlibc || withoutLibrary;
  const needed = require(`${name}/package.json`).glibcVersion;
  const version = hostGlibc();
  return version && isAtLeast(version, needed) ? withGlibc : withoutLibrary;
}

const binary = choose();
if (!binary) {
  console.error(
    `error: the package ${name} is not installed; if it exists for this platform, install ` +
      "prowess again without --omit=optional"
  );
  process.exit(3);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes; a second one would abort what the first one ends.
const hasTerminal = [0, 1, 2].some((stream) => isatty(stream));
process.on("SIGINT", () => hasTerminal || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot start ${binary}: ${error.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
