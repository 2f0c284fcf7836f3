//! What a request to a model would do, for people and as JSON. Keys are named, never shown.

use std::collections::BTreeMap;
use std::fmt;

use prowess_provider::config::{Price, ProvidersConfig as Gateway};
use prowess_provider::{
    BreakerExplanation, DeploymentExplanation, KeySource, LimitExplanation, Providers, RouteError,
    RouteExplanation,
};
use serde::Serialize;

/// A model as it is configured.
#[derive(Debug, Serialize)]
pub(super) struct ExplainedModel {
    #[serde(flatten)]
    route: RouteExplanation,
    /// Where each provider's API key comes from.
    api_keys: BTreeMap<String, String>,
}

pub(super) fn explain(
    providers: &Providers,
    gateway: &Gateway,
    model: &str,
) -> Result<ExplainedModel, RouteError> {
    let route = providers.explain(model)?;
    let names = route.deployments.iter().map(|one| one.provider.as_str());
    let fallbacks = &route.fallbacks;
    let fallbacks = [
        &fallbacks.errors,
        &fallbacks.context,
        &fallbacks.content_filter,
    ];
    let fallbacks = fallbacks.into_iter().flatten();
    let fallbacks = fallbacks.filter_map(|target| Some(target.split_once('/')?.0));
    let names = names.chain(fallbacks);
    let api_keys = names.map(|name| (name.to_owned(), key_place(gateway, name)));
    let api_keys = api_keys.collect();
    Ok(ExplainedModel { route, api_keys })
}

fn key_place(gateway: &Gateway, provider: &str) -> String {
    let mut configured = gateway.providers.iter();
    let configured = configured.find(|one| one.name == provider);
    match configured.and_then(|one| one.api_key.as_ref()) {
        Some(KeySource::Env(name)) => format!("variable {name}"),
        Some(KeySource::File(path)) => format!("file {}", path.display()),
        Some(KeySource::Literal(_)) => "in the configuration file".to_owned(),
        None => "where its kind usually has it".to_owned(),
    }
}

impl fmt::Display for ExplainedModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = &self.route;
        match &route.entry {
            Some(entry) if *entry == route.name => {
                writeln!(out, "{}: a model of [[models]]", route.name)?;
            }
            Some(entry) => writeln!(out, "{}: the model {entry} of [[models]]", route.name)?,
            None => writeln!(out, "{}: a provider's own model", route.name)?,
        }
        if let Some(strategy) = &route.strategy {
            writeln!(out, "strategy: {}", strategy.as_str())?;
        }
        if let Some(seconds) = route.sticky_seconds {
            writeln!(out, "a conversation prefers its deployment for {seconds}s")?;
        }
        for (place, deployment) in route.deployments.iter().enumerate() {
            let key = self.api_keys.get(&deployment.provider);
            write_deployment(out, place + 1, deployment, key.map_or("", String::as_str))?;
        }
        let fallbacks = &route.fallbacks;
        for (when, targets) in [
            ("after errors", &fallbacks.errors),
            ("for requests that are too long", &fallbacks.context),
            ("for refused content", &fallbacks.content_filter),
        ] {
            if !targets.is_empty() {
                writeln!(out, "fallbacks {when}: {}", targets.join(", "))?;
            }
        }
        Ok(())
    }
}

fn write_deployment(
    out: &mut fmt::Formatter<'_>,
    place: usize,
    one: &DeploymentExplanation,
    key: &str,
) -> fmt::Result {
    let DeploymentExplanation {
        provider,
        kind,
        model,
        weight,
        ..
    } = one;
    writeln!(out, "{place}. {provider}/{model} ({kind}), weight {weight}")?;
    if let Some(base) = &one.base_model {
        writeln!(out, "   base model: {base}")?;
    }
    writeln!(out, "   API key: {key}")?;
    writeln!(out, "   limits: {}", limits(&one.limits))?;
    writeln!(out, "   attempts: {}", one.attempts)?;
    if let Some(timeouts) = &one.timeouts {
        writeln!(
            out,
            "   timeouts: {}s to connect, {}s until the response, {}s between its parts",
            timeouts.connect, timeouts.response, timeouts.idle
        )?;
    }
    writeln!(out, "   passed over: {}", breaker(&one.breaker))?;
    writeln!(
        out,
        "   price: {}",
        price(one.price.as_ref(), &one.price_source)
    )?;
    let clients = |way: &str| {
        let clients = one.dialects.iter().filter(|dialect| dialect.way == way);
        let clients: Vec<_> = clients.map(|dialect| dialect.client).collect();
        clients.join(", ")
    };
    for way in ["pass-through", "translation"] {
        let clients = clients(way);
        if !clients.is_empty() {
            writeln!(out, "   {way}: {clients}")?;
        }
    }
    Ok(())
}

fn limits(limits: &LimitExplanation) -> String {
    let part = |count: Option<u64>, what: &str| count.map(|count| format!("{count} {what}"));
    let size = |count: Option<usize>| count.and_then(|count| u64::try_from(count).ok());
    let parts = [
        part(size(limits.concurrent), "calls at once"),
        part(size(limits.queued), "waiting"),
        part(limits.requests_per_minute, "requests per minute"),
        part(limits.tokens_per_minute, "tokens per minute"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(", ")
}

fn breaker(breaker: &BreakerExplanation) -> String {
    let failures = match breaker.failures {
        0 => None,
        count => {
            let seconds = breaker.server_error_seconds;
            Some(format!("{seconds}s after {count} failures"))
        }
    };
    let after = |seconds: Option<f64>, what: &str| {
        let seconds = seconds.filter(|seconds| *seconds > 0.0);
        seconds.map(|seconds| format!("{seconds}s after {what}"))
    };
    let parts = [
        failures,
        after(breaker.rate_limited_seconds, "a rate limit"),
        after(breaker.timeout_seconds, "a timeout"),
        after(breaker.auth_seconds, "a refused key"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "never".to_owned();
    }
    parts.join(", ")
}

fn price(price: Option<&Price>, source: &str) -> String {
    let Some(price) = price else {
        return source.to_owned();
    };
    let cached = [
        ("cache read", price.cache_read),
        ("cache write", price.cache_write),
    ];
    let cached = cached.map(|(what, price)| price.map(|price| format!(", {what} {price}")));
    let cached: String = cached.into_iter().flatten().collect();
    format!(
        "input {}, output {}{cached} per million tokens ({source})",
        price.input, price.output
    )
}
