//! A worker needs no keys: whoever breaks out of a sandbox should find none in its process.

/// Variables with secrets of gateways.
const GATEWAY_VARIABLES: [&str; 5] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "PROWESS_MASTER_KEY",
    "PROWESS_STORE_URL",
    "PGPASSWORD",
];

/// Names variables of this process that a worker does not need and that look like secrets of
/// a gateway. Values are never logged.
pub(super) fn warn_of_secrets() {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let found = secrets_in(names);
    if !found.is_empty() {
        let variables = found.join(", ");
        tracing::warn!(
            variables,
            "a worker needs no keys of providers, stores or clouds: start it without these \
             variables"
        );
    }
}

fn secrets_in(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_secret = |name: &String| {
        GATEWAY_VARIABLES.contains(&name.as_str())
            || name.ends_with("_API_KEY")
            || name.ends_with("_AUTH_TOKEN")
    };
    let mut found: Vec<String> = names.filter(is_secret).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_providers_and_stores_are_found() {
        let names = [
            "PATH",
            "OPENAI_API_KEY",
            "PROWESS_STORE_URL",
            "PROWESS_NATS",
            "HOME",
        ];
        let found = secrets_in(names.into_iter().map(str::to_owned));
        assert_eq!(found, ["OPENAI_API_KEY", "PROWESS_STORE_URL"]);
    }
}
