// Runs in progress: the end of the events stays in sight, the time goes on, and the buttons
// follow the state. Events themselves are made by the server and added by htmx.

const seconds = (millis) => {
  const total = Math.max(0, Math.floor(millis / 1000));
  return total < 60 ? `${total} s` : `${Math.floor(total / 60)} min ${total % 60} s`;
};

for (const run of document.querySelectorAll("[data-run]")) {
  const live = run.querySelector("[data-live]");
  const clock = run.querySelector("[data-since]");
  const began = clock ? Date.parse(clock.dataset.since) : NaN;
  let timer;
  if (run.querySelector("[data-stop]") && !Number.isNaN(began)) {
    const show = () => {
      clock.textContent = seconds(Date.now() - began);
    };
    show();
    timer = setInterval(show, 1000);
  }
  // Who reads further up is left there.
  let follows = true;
  live.addEventListener("scroll", () => {
    follows = live.scrollTop + live.clientHeight >= live.scrollHeight - 40;
  });
  const showEnd = () => {
    if (follows) live.scrollTop = live.scrollHeight;
  };
  new MutationObserver(showEnd).observe(live, { childList: true, subtree: true });
  // Images have their size once they are loaded.
  live.addEventListener("load", showEnd, true);
  // After its end there is nothing to connect to again. The attribute that closes a connection
  // would abort one that the server is about to close itself, which is an error in the log.
  let isOver = false;
  live.addEventListener("htmx:sse:before:connection", (event) => {
    if (isOver) event.preventDefault();
  });
  live.addEventListener("ended", (event) => {
    isOver = true;
    clearInterval(timer);
    run.querySelector("[data-stop]")?.remove();
    const status = run.querySelector("[data-status]");
    const state = event.detail?.data ?? "ended";
    status.textContent = state;
    status.className = `badge badge-${state === "completed" ? "ok" : "bad"}`;
  });
}
