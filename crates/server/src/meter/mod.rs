//! What one request to a model used, from its arrival to the last byte of its answer.
//!
//! A [`Meter`] goes along with a request and its stream. When it is dropped, however
//! that comes about, what it saw goes to the key's limits, to the [`Ledger`], and to
//! whoever collects traces. None of them is waited for.

mod ledger;
mod scan;
mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use prowess_provider::config::Price;
use prowess_store::{KeyRecord, TenantId, UsageRow};
use prowess_wire::Client;
use prowess_wire::neutral::Usage;

pub(crate) use ledger::Ledger;
pub(crate) use scan::Scanner;

use crate::app::App;
use crate::auth::Caller;
use crate::limits::Reservation;
use crate::telemetry::{Parent, Span};

/// The status of an answer whose client left before its end.
const CLIENT_LEFT: u16 = 499;
/// What stands for the model in the row of a request that found no way to one: what a
/// client may write there has no bound.
const UNKNOWN_MODEL: &str = "(unknown)";
/// Characters of a model's name that are kept; clients may write anything.
const MODEL_CHARS: usize = 200;

/// Follows one request to a model.
pub(crate) struct Meter(Box<Seen>);

struct Seen {
    app: App,
    tenant: TenantId,
    key: Option<Arc<KeyRecord>>,
    client: Client,
    model: String,
    /// Whether the model is one that the caller may use.
    routed: bool,
    streamed: bool,
    parent: Option<Parent>,
    arrived: Instant,
    at: SystemTime,
    provider: String,
    kind: &'static str,
    upstream_model: String,
    price: Option<Price>,
    status: u16,
    usage: Usage,
    estimated: bool,
    code: Option<String>,
    silent: bool,
    reservation: Option<Reservation>,
    tap: Option<Tap>,
}

impl Meter {
    /// For a request that has just been read.
    pub(crate) fn start(
        app: &App,
        caller: &Caller,
        client: Client,
        model: &str,
        streamed: bool,
    ) -> Meter {
        Meter(Box::new(Seen {
            app: app.clone(),
            tenant: caller.tenant.clone(),
            key: caller.key().cloned(),
            client,
            model: shortened(model),
            routed: false,
            streamed,
            parent: None,
            arrived: Instant::now(),
            at: SystemTime::now(),
            provider: String::new(),
            kind: "",
            upstream_model: String::new(),
            price: None,
            status: CLIENT_LEFT,
            usage: Usage::default(),
            estimated: false,
            code: None,
            silent: false,
            reservation: None,
            tap: None,
        }))
    }

    /// The span of the client's, in a trace that goes on here.
    pub(crate) fn within(&mut self, parent: Option<Parent>) {
        self.0.parent = parent;
    }

    /// There is a way to the model, and the caller may take it: the row may name it.
    pub(crate) fn routed(&mut self) {
        self.0.routed = true;
    }

    /// What the key's limits hold back for it, until its end.
    pub(crate) fn hold(&mut self, reservation: Option<Reservation>) {
        self.0.reservation = reservation;
    }

    /// A way to tell it what a run of several turns used so far: the answer says so only
    /// at its end, which may never come.
    pub(crate) fn tap(&mut self) -> Tap {
        let tap = Tap(Arc::new(Tapped {
            price: self.0.price.clone(),
            reservation: self.0.reservation.clone(),
            usage: Mutex::default(),
        }));
        self.0.tap = Some(tap.clone());
        tap
    }

    /// This one is not to be counted.
    pub(crate) fn silence(&mut self) {
        self.0.silent = true;
    }

    /// Whether anything is known of the cost.
    pub(crate) fn has_usage(&self) -> bool {
        let usage = &self.0.usage;
        usage.total_input() > 0 || usage.output_tokens > 0
    }

    /// Who answers, and at what price.
    pub(crate) fn answered_by(&mut self, provider: &str, model: &str, price: Option<&Price>) {
        provider.clone_into(&mut self.0.provider);
        self.0.upstream_model = shortened(model);
        self.0.price = price.cloned();
    }

    /// The kind of provider, in the word of configuration files.
    pub(crate) fn kind(&mut self, kind: &'static str) {
        self.0.kind = kind;
    }

    /// What is known of the cost; later counts of the same answer are higher.
    pub(crate) fn used(&mut self, usage: &Usage) {
        self.0.usage.raise(usage);
    }

    /// Counts of our own making, for want of the upstream's.
    pub(crate) fn guess(&mut self, usage: &Usage) {
        self.0.usage.raise(usage);
        self.0.estimated = true;
    }

    /// The answer has ended with this status; until then the client counts as gone.
    pub(crate) fn ended(&mut self, status: u16) {
        self.0.status = status;
    }

    /// All that was used is known: the client may ask again as soon as it hears the end
    /// of its answer, and must not find its own share held back.
    pub(crate) fn ended_with_usage(&mut self, status: u16) {
        self.ended(status);
        if self.has_usage() {
            let cost = self.0.cost();
            self.0.settle(cost);
        }
    }

    /// It failed with this status, for this reason.
    pub(crate) fn failed(&mut self, status: u16, code: &str) {
        self.0.status = status;
        self.0.code = Some(code.to_owned());
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let seen = &mut *self.0;
        if seen.silent {
            return;
        }
        if let Some(tap) = &seen.tap {
            seen.usage.raise(&tap.0.usage());
        }
        let cost = seen.cost();
        seen.settle(cost);
        if let Some(telemetry) = seen.app.telemetry() {
            telemetry.note(seen.span());
        }
        let row = seen.row(cost);
        seen.app.ledger().note(row);
    }
}

impl Seen {
    /// What it cost, in billionths, if there is a price.
    fn cost(&self) -> Option<u64> {
        let price = self.price.as_ref()?;
        Some(price.cost_nanos(&self.usage))
    }

    /// Exchanges what is held back for what was used.
    fn settle(&mut self, cost: Option<u64>) {
        let Some(reservation) = self.reservation.take() else {
            return;
        };
        match total(&self.usage) {
            0 if self.status == CLIENT_LEFT => reservation.settle_abandoned(),
            tokens => reservation.settle(tokens, cost.unwrap_or_default()),
        }
    }

    fn row(&mut self, cost: Option<u64>) -> UsageRow {
        UsageRow {
            tenant: self.tenant.clone(),
            key: self.key.as_ref().map(|key| key.id.clone()),
            model: match self.routed {
                true => std::mem::take(&mut self.model),
                false => UNKNOWN_MODEL.to_owned(),
            },
            provider: std::mem::take(&mut self.provider),
            upstream_model: std::mem::take(&mut self.upstream_model),
            dialect: word(self.client).to_owned(),
            status: self.status,
            requests: 1,
            unpriced: u64::from(cost.is_none()),
            estimated: u64::from(self.estimated),
            input_tokens: self.usage.input_tokens,
            output_tokens: self.usage.output_tokens,
            cache_read_tokens: self.usage.cache_read_input_tokens,
            cache_write_tokens: self.usage.cache_creation_input_tokens,
            cost_nanos: cost.unwrap_or_default(),
            millis: u64::try_from(self.arrived.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn span(&self) -> Span {
        Span {
            parent: self.parent.clone(),
            began: self.at,
            took: self.arrived.elapsed(),
            dialect: word(self.client),
            provider: self.provider.clone(),
            kind: self.kind,
            asked: self.model.clone(),
            answered: self.upstream_model.clone(),
            streamed: self.streamed,
            status: self.status,
            code: self.code.clone(),
            usage: self.usage.clone(),
            tenant: self.tenant.as_str().to_owned(),
            key: self.key.as_ref().map(|key| key.id.clone()),
        }
    }
}

/// Tells a meter what a run used so far.
#[derive(Clone)]
pub(crate) struct Tap(Arc<Tapped>);

struct Tapped {
    price: Option<Price>,
    reservation: Option<Reservation>,
    usage: Mutex<Usage>,
}

impl Tap {
    /// All turns so far used this.
    pub(crate) fn used(&self, usage: &Usage) {
        let mut sum = self.0.usage();
        sum.raise(usage);
        if let Some(reservation) = &self.0.reservation {
            let cost = self.0.price.as_ref().map(|price| price.cost_nanos(&sum));
            reservation.raise(total(&sum), cost.unwrap_or_default());
        }
    }
}

impl Tapped {
    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All tokens, in and out.
fn total(usage: &Usage) -> u64 {
    usage.total_input().saturating_add(usage.output_tokens)
}

fn shortened(model: &str) -> String {
    // As a rule it is short, and not looked through.
    if model.len() <= MODEL_CHARS {
        return model.to_owned();
    }
    model.chars().take(MODEL_CHARS).collect()
}

/// What a client speaks, in a word.
fn word(client: Client) -> &'static str {
    match client {
        Client::Messages => "messages",
        Client::Chat => "chat",
        Client::Responses => "responses",
        Client::Gemini => "gemini",
    }
}
