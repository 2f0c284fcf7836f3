//! What an installation does, on standard error: one line for each step, and on a terminal a
//! bar below it.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prowess_sandbox::runtimes::InstallEvent;

use crate::output;

/// How often the time on a bar is drawn again.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct InstallProgress {
    /// The bar of the current step; `None` if standard error is not a terminal.
    bar: Option<ProgressBar>,
}

impl InstallProgress {
    pub(super) fn new() -> Self {
        Self { bar: None }
    }

    pub(super) fn show(&mut self, event: InstallEvent) {
        match event {
            InstallEvent::Waiting { holder } => {
                let who = holder.map_or("another process".to_owned(), |id| format!("process {id}"));
                output::print_remark(&format!(
                    "{who} is installing this runtime; waiting for it to end"
                ));
            }
            InstallEvent::Step {
                number,
                count,
                title,
                done_before,
            } => {
                self.end();
                let done = if done_before { ": done before" } else { "" };
                output::print_remark(&format!("{number}/{count} {title}{done}"));
                if !done_before && std::io::stderr().is_terminal() {
                    self.bar = Some(new_bar());
                }
            }
            InstallEvent::Bytes { done, total } => {
                if let Some(bar) = &self.bar {
                    if let Some(total) = total {
                        bar.set_length(total.max(done));
                        bar.set_style(style("[{bar:30}] {bytes} of {total_bytes} {elapsed}"));
                    }
                    bar.set_position(done);
                }
            }
            InstallEvent::Unchecked { reason } => {
                output::print_remark(&format!("not checked, because {reason}"));
            }
        }
    }

    /// Removes the bar.
    pub(super) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style("{spinner} {bytes} {elapsed}"));
    bar.enable_steady_tick(REDRAW_INTERVAL);
    bar
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}
