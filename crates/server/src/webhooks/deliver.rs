//! The background task that delivers webhooks: what is due, retries, shares of tenants.
//!
//! Every server runs it; the store gives each webhook to one of them at a time. One whose
//! server dies during an attempt is due again after a while, so a receiver may get a webhook
//! twice, with the same id. Knows nothing of what a webhook contains.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prowess_engine::fail_point;
use prowess_store::{Store, TenantId, Timestamp, WebhookDelivery};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::send::{SendOutcome, WebhookSender};
use super::settings::WebhookSettings;

/// Concurrent attempts, and those of one tenant.
const MAX_IN_FLIGHT: u32 = 16;
const MAX_IN_FLIGHT_OF_TENANT: u32 = 4;
/// How often the store is searched for what is due.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same, without webhooks.
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(3_600);
/// Beyond the timeout of an attempt, until another server may take a webhook.
const CLAIM_MARGIN: Duration = Duration::from_secs(5);
/// How long a webhook is kept whose URL is not in the configuration of the servers that take it.
/// While a configuration is changed server by server, another one may have it.
const UNCONFIGURED_TIME: Duration = Duration::from_secs(24 * 3_600);
/// How long attempts may take to finish on shutdown.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(2);

const METRIC: &str = "prowess_webhooks_total";

/// Delivers webhooks until `stop` is cancelled. `settings` returns those of now, and `changed`
/// reports that they may be others; attempts in progress go on with theirs. `wake` reports that
/// a run has ended; without it, its webhooks are found with the next poll.
pub(crate) async fn run(
    store: Store,
    settings: impl Fn() -> WebhookSettings + Send,
    mut changed: watch::Receiver<u64>,
    wake: Arc<Notify>,
    stop: CancellationToken,
) {
    let mut worker = WebhookWorker {
        deliverer: None,
        attempts: JoinSet::new(),
        in_flight: HashMap::new(),
        store_failed: false,
    };
    loop {
        changed.mark_unchanged();
        worker.deliverer = Deliverer::new(&store, settings()).map(Arc::new);
        let interval = worker.poll_interval();
        let stopped = loop {
            worker.start_due().await;
            tokio::select! {
                biased;
                () = stop.cancelled() => break true,
                Ok(()) = changed.changed() => break false,
                Some(ended) = worker.attempts.join_next_with_id() => worker.forget(ended),
                () = wake.notified() => {}
                () = tokio::time::sleep(interval) => {}
            }
        };
        if stopped {
            break;
        }
    }
    worker.shut_down(&store).await;
}

struct WebhookWorker {
    /// `None` if no webhook can be sent.
    deliverer: Option<Arc<Deliverer>>,
    attempts: JoinSet<()>,
    in_flight: HashMap<Id, WebhookInFlight>,
    /// Whether the last search failed, so that only the first failure is logged.
    store_failed: bool,
}

struct WebhookInFlight {
    webhook: String,
    tenant: TenantId,
}

impl WebhookWorker {
    /// How often the store is searched. Without webhooks it is not searched at all.
    fn poll_interval(&self) -> Duration {
        let first = self.deliverer.as_ref();
        let first = first.map(|deliverer| deliverer.settings.first_retry);
        first.map_or(IDLE_POLL_INTERVAL, |first| first.min(POLL_INTERVAL))
    }

    /// Takes what is due, as far as there is room, and starts to send it.
    async fn start_due(&mut self) {
        let Some(deliverer) = self.deliverer.clone() else {
            return;
        };
        loop {
            let (full, room) = room(self.in_flight.values().map(|entry| &entry.tenant));
            if room == 0 {
                return;
            }
            let visible = deliverer.settings.timeout.saturating_add(CLAIM_MARGIN);
            let due = deliverer.store.take_due_webhooks(visible, room, &full);
            let due = match due.await {
                Ok(due) => due,
                Err(error) => {
                    if !std::mem::replace(&mut self.store_failed, true) {
                        tracing::warn!(%error, "webhooks that are due cannot be read");
                    }
                    return;
                }
            };
            self.store_failed = false;
            if due.is_empty() {
                return;
            }
            for delivery in due {
                self.start(&deliverer, delivery);
            }
        }
    }

    fn start(&mut self, deliverer: &Arc<Deliverer>, delivery: WebhookDelivery) {
        let entry = WebhookInFlight {
            webhook: delivery.id.clone(),
            tenant: delivery.tenant.clone(),
        };
        let deliverer = Arc::clone(deliverer);
        let attempt = self
            .attempts
            .spawn(async move { deliverer.attempt(&delivery).await });
        self.in_flight.insert(attempt.id(), entry);
    }

    fn forget(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => error.id(),
        };
        self.in_flight.remove(&id);
    }

    /// Waits a moment for attempts to finish. Any others are due again at once, for another
    /// server or the next start.
    async fn shut_down(mut self, store: &Store) {
        let finish = async {
            while let Some(ended) = self.attempts.join_next_with_id().await {
                self.forget(ended);
            }
        };
        if tokio::time::timeout(SHUTDOWN_WAIT, finish).await.is_ok() {
            return;
        }
        self.attempts.shutdown().await;
        for entry in self.in_flight.values() {
            if let Err(error) = store.postpone_webhook(&entry.webhook, Duration::ZERO).await {
                tracing::warn!(%error, webhook = entry.webhook, "webhook cannot be released");
            }
        }
    }
}

struct Deliverer {
    store: Store,
    sender: WebhookSender,
    settings: Arc<WebhookSettings>,
}

impl Deliverer {
    /// `None` if the settings have no webhooks.
    fn new(store: &Store, settings: WebhookSettings) -> Option<Deliverer> {
        if !settings.is_enabled() {
            return None;
        }
        let settings = Arc::new(settings);
        match WebhookSender::new(Arc::clone(&settings)) {
            Ok(sender) => Some(Deliverer {
                store: store.clone(),
                sender,
                settings,
            }),
            Err(error) => {
                tracing::error!(%error, "webhooks cannot be sent");
                None
            }
        }
    }

    /// Attempts to deliver a webhook, and stores the outcome.
    async fn attempt(&self, delivery: &WebhookDelivery) {
        fail_point("webhook-taken");
        let outcome = self.sender.send(delivery).await;
        fail_point("webhook-sent");
        let last = delivery.attempts >= i64::from(self.settings.max_attempts);
        let stored = match outcome {
            SendOutcome::Delivered => {
                count("delivered");
                self.store.remove_webhook(&delivery.id).await
            }
            SendOutcome::Failed(reason) if !last => {
                count("failed");
                let (webhook, host) = (&delivery.id, host(delivery));
                let attempts = delivery.attempts;
                tracing::info!(webhook, host, attempts, reason, "webhook attempt failed");
                let delay = retry_delay(&self.settings, delivery.attempts, fastrand::f64());
                self.store.postpone_webhook(&delivery.id, delay).await
            }
            SendOutcome::Failed(reason) | SendOutcome::Refused(reason) => {
                self.give_up(delivery, &reason).await
            }
            SendOutcome::Unconfigured => match unconfigured_delay(&self.settings, age(delivery)) {
                Some(delay) => {
                    let (webhook, host) = (&delivery.id, host(delivery));
                    tracing::debug!(webhook, host, "webhook left to servers that know its URL");
                    self.store.return_webhook(&delivery.id, delay).await
                }
                None => {
                    let reason = "the URL is not, or no longer, in the configuration";
                    self.give_up(delivery, reason).await
                }
            },
        };
        if let Err(error) = stored {
            let webhook = &delivery.id;
            tracing::warn!(%error, webhook, "outcome of a webhook cannot be stored; it is repeated");
        }
    }

    async fn give_up(
        &self,
        delivery: &WebhookDelivery,
        reason: &str,
    ) -> Result<(), prowess_store::Error> {
        count("given_up");
        let (webhook, run, host) = (&delivery.id, &delivery.run, host(delivery));
        let attempts = delivery.attempts;
        tracing::warn!(webhook, run, host, attempts, reason, "webhook given up");
        self.store.remove_webhook(&delivery.id).await
    }
}

fn count(outcome: &'static str) {
    metrics::counter!(METRIC, "outcome" => outcome).increment(1);
}

/// For the log; a whole URL may contain a token.
fn host(delivery: &WebhookDelivery) -> String {
    let url = Url::parse(&delivery.url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or_default().to_owned()
}

/// The tenants without room, and how many webhooks of any others may be taken, even if all of
/// them are of one tenant. `in_flight` has the tenant of each attempt.
fn room<'a>(in_flight: impl Iterator<Item = &'a TenantId>) -> (Vec<TenantId>, u32) {
    let mut counts: HashMap<&TenantId, u32> = HashMap::new();
    for tenant in in_flight {
        *counts.entry(tenant).or_default() += 1;
    }
    let free = MAX_IN_FLIGHT.saturating_sub(counts.values().sum());
    let (full, others): (HashMap<_, _>, HashMap<_, _>) = counts
        .into_iter()
        .partition(|(_, count)| *count >= MAX_IN_FLIGHT_OF_TENANT);
    let busiest = others.into_values().max().unwrap_or(0);
    let full = full.into_keys().cloned().collect();
    (full, free.min(MAX_IN_FLIGHT_OF_TENANT - busiest))
}

/// How long ago the run of a webhook ended.
fn age(delivery: &WebhookDelivery) -> Duration {
    let micros = Timestamp::now().as_micros() - delivery.created_at.as_micros();
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// The delay until a server is looked for that knows the URL of a webhook of this age: it grows
/// with the age. None if it is given up.
fn unconfigured_delay(settings: &WebhookSettings, age: Duration) -> Option<Duration> {
    let delay = (age / 4).max(settings.first_retry);
    (age < UNCONFIGURED_TIME).then(|| delay.min(settings.longest_retry))
}

/// The delay after a failed attempt: doubled each time, and up to half less by `chance`, from
/// 0 to 1, so that receivers do not get everything at once after an outage.
fn retry_delay(settings: &WebhookSettings, attempts: i64, chance: f64) -> Duration {
    let doublings = u32::try_from(attempts.clamp(1, 32) - 1).unwrap_or(0);
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    let delay = settings.first_retry.saturating_mul(factor);
    let delay = delay.min(settings.longest_retry);
    delay.mul_f64(1.0 - chance / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let settings = WebhookSettings::default();
        let seconds = |attempts, chance| retry_delay(&settings, attempts, chance).as_secs();
        let all = [0, 1, 2, 3, 10, 11, 12, 40, i64::MAX].map(|attempts| seconds(attempts, 0.0));
        assert_eq!(all, [5, 5, 10, 20, 2560, 3600, 3600, 3600, 3600]);
        assert_eq!((seconds(2, 1.0), seconds(12, 1.0)), (5, 1800));
    }

    #[test]
    fn a_webhook_with_an_unknown_url_is_kept_for_a_day() {
        let settings = WebhookSettings::default();
        let delay = |age| unconfigured_delay(&settings, Duration::from_secs(age));
        let seconds = [0, 20, 600, 86_399].map(|age| delay(age).map(|delay| delay.as_secs()));
        assert_eq!(seconds, [Some(5), Some(5), Some(150), Some(3_600)]);
        assert_eq!(delay(86_400), None);
    }

    #[test]
    fn one_tenant_never_has_all_attempts() {
        let names = ["a", "b", "c", "d"];
        let [a, b, c, d] = names.map(|name| TenantId::new(name).unwrap());
        let found = |tenants: &[(&TenantId, usize)]| {
            let all = tenants
                .iter()
                .flat_map(|(tenant, count)| std::iter::repeat_n(*tenant, *count));
            let (mut full, room) = room(all);
            full.sort();
            (full, room)
        };
        assert_eq!(found(&[]), (vec![], 4));
        assert_eq!(found(&[(&a, 3)]), (vec![], 1));
        assert_eq!(found(&[(&a, 4)]), (vec![a.clone()], 4));
        assert_eq!(found(&[(&a, 4), (&b, 2)]), (vec![a.clone()], 2));
        let most = [(&a, 4), (&b, 4), (&c, 4), (&d, 3)];
        assert_eq!(found(&most).1, 1);
        let all = [(&a, 4), (&b, 4), (&c, 4), (&d, 4)];
        assert_eq!(
            found(&all),
            (vec![a.clone(), b.clone(), c.clone(), d.clone()], 0)
        );
    }
}
