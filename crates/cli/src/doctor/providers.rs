//! Providers of models: which have a key, or which source of a cloud's credentials. Neither is
//! shown or tried.

use prowess_provider::Providers;
use prowess_provider::config::ProvidersConfig as Gateway;

use super::part::PartReport;
use crate::config::missing_keys;

const PROVIDERS: &str = "providers";

pub(super) fn check(gateway: &Gateway) -> Vec<PartReport> {
    let mut parts = Vec::new();
    match Providers::new(gateway.clone()) {
        Err(error) => {
            let advice = "correct [providers] and [[models]] in prowess.toml";
            parts.push(PartReport::missing(PROVIDERS, error.to_string(), advice));
        }
        Ok(providers) => {
            let missing = missing_keys(gateway);
            let mut names = providers.names();
            names.retain(|name| {
                let settings = format!("providers.{name}.");
                !missing
                    .iter()
                    .any(|(setting, _)| setting.starts_with(&settings))
            });
            parts.push(match names.as_slice() {
                [] => PartReport::note(
                    PROVIDERS,
                    "none with a key: no model can be called",
                    "set OPENAI_API_KEY, ANTHROPIC_API_KEY or similar, or add [providers] to \
                     prowess.toml",
                ),
                names => {
                    let shown = names.iter().map(|name| shown(&providers, name));
                    PartReport::ok(PROVIDERS, shown.collect::<Vec<_>>().join(", "))
                }
            });
        }
    }
    parts.extend(check_keys(gateway));
    parts
}

/// A provider, with the source of its credentials if a cloud gives them.
fn shown(providers: &Providers, name: &str) -> String {
    match providers.credential_source(name) {
        Some(source) => format!("{name} (credentials: {source})"),
        None => name.to_owned(),
    }
}

/// Keys that the configuration names and that this environment lacks.
pub(super) fn check_keys(gateway: &Gateway) -> Vec<PartReport> {
    let missing = missing_keys(gateway).into_iter();
    missing
        .map(|(setting, why)| {
            let advice = "set it in the environment of the server, or remove the provider";
            PartReport::note(PROVIDERS, format!("{setting}: {why}"), advice)
        })
        .collect()
}
