#!/usr/bin/env node
// Starts the binary of this platform; passes arguments, signals and exit codes on.
"use strict";
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const platform = `prowess-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${platform}/bin/prowess`);
} catch {
  console.error(
    `error: the package ${platform} is not installed; if it exists for this platform, install ` +
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
