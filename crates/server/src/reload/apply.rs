//! One reload: reads the configuration, replaces it whole, and says what came of it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::config_reader::{ConfigReader, ReloadError, ReloadReport};
use crate::app::App;

const RELOADS_METRIC: &str = "prowess_config_reloads_total";
const GENERATION_METRIC: &str = "prowess_config_generation";
/// Changed settings that the log line names.
const MAX_LOGGED: usize = 20;

impl App {
    /// Sets who reads the configuration for [`App::reload`], once.
    pub fn set_config_reader(&self, reader: Arc<dyn ConfigReader>) {
        self.reloads().set_reader(reader);
        show_generation(self.generation());
    }

    /// Reads the configuration again and makes it that of everything that begins from now on.
    /// What is in progress goes on with its own. The outcome is logged and counted.
    ///
    /// # Errors
    /// When it is not valid or needs a restart; then nothing has changed.
    pub async fn reload(&self) -> Result<ReloadReport, ReloadError> {
        // On the runtime of the server: that of a connection ends earlier, and whoever asked
        // may leave.
        let (sender, outcome) = oneshot::channel();
        let app = self.clone();
        self.local_runs().spawn(async move {
            let outcome = app.reload_now().await;
            // Whoever asked may have left; the log has it.
            let _ = sender.send(outcome);
        });
        let stopped = || ReloadError::Invalid(vec!["the server stops".to_owned()]);
        outcome.await.unwrap_or_else(|_| Err(stopped()))
    }

    async fn reload_now(&self) -> Result<ReloadReport, ReloadError> {
        let outcome = self.read_and_replace().await;
        match &outcome {
            Ok(report) => {
                count("applied");
                show_generation(report.generation);
                let named = report.changed.iter().take(MAX_LOGGED);
                let changed = named.map(String::as_str).collect::<Vec<_>>().join(" ");
                let (count, source) = (report.changed.len(), &report.source);
                let generation = report.generation;
                tracing::info!(generation, source, count, changed, "configuration reloaded");
            }
            Err(error) => {
                count(match error {
                    ReloadError::Invalid(_) => "invalid",
                    ReloadError::NeedsRestart(_) => "needs_restart",
                    ReloadError::Unavailable => "unavailable",
                });
                tracing::error!(%error, "configuration not reloaded");
            }
        }
        outcome
    }

    async fn read_and_replace(&self) -> Result<ReloadReport, ReloadError> {
        let reader = self.reloads().reader();
        let reader = reader.ok_or(ReloadError::Unavailable)?;
        let _turn = self.reloads().begin().await;
        let failed = || ReloadError::Invalid(vec!["it could not be read".to_owned()]);
        let read = tokio::task::spawn_blocking(move || reader.read()).await;
        let read = read.unwrap_or_else(|_| Err(failed()))?;
        let app = self.replace_settings(read.settings);
        Ok(ReloadReport {
            generation: app.generation(),
            read_at: app.read_at(),
            source: read.source,
            changed: read.changed,
        })
    }
}

fn count(result: &'static str) {
    metrics::counter!(RELOADS_METRIC, "result" => result).increment(1);
}

fn show_generation(generation: u64) {
    metrics::gauge!(GENERATION_METRIC).set(generation as f64);
}
