//! LiteLLM's settings that are not imported: what to use instead, or that there is nothing. The
//! table is also in `docs/from-litellm.md`.

/// What is said of a setting that is in no table.
const NONE: &str = "no equivalent in Prowess";

/// Settings, by their last name, that have another place in Prowess.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "budget_duration",
        "limits belong to keys: prowess keys create --budget",
    ),
    (
        "cache",
        "responses are not cached; prompt caches of providers work",
    ),
    (
        "cache_params",
        "responses are not cached; prompt caches of providers work",
    ),
    ("database_url", "set url under [store] instead"),
    (
        "drop_params",
        "fields that a provider does not support are always dropped in translation",
    ),
    (
        "environment_variables",
        "set them where `prowess serve` is started",
    ),
    (
        "include",
        "import each of these files, and join the results",
    ),
    (
        "max_budget",
        "limits belong to keys: prowess keys create --budget",
    ),
    (
        "max_tokens",
        "set default_max_tokens under [[models]] instead",
    ),
    ("otel", "set [telemetry] instead"),
    (
        "redis_host",
        "limits and routes need no Redis; servers share the store",
    ),
    (
        "redis_password",
        "limits and routes need no Redis; servers share the store",
    ),
    (
        "redis_port",
        "limits and routes need no Redis; servers share the store",
    ),
    (
        "redis_url",
        "limits and routes need no Redis; servers share the store",
    ),
    (
        "success_callback",
        "set [telemetry] for traces, or [webhooks] for runs",
    ),
    (
        "failure_callback",
        "set [telemetry] for traces, or [webhooks] for runs",
    ),
    (
        "callbacks",
        "set [telemetry] for traces, or [webhooks] for runs",
    ),
];

/// Settings, by their last name, that Prowess has no equivalent of.
const WITHOUT_EQUIVALENT: &[(&str, &str)] = &[
    ("alerting", "alerts of the proxy by itself"),
    ("allowed_routes", "which routes are open"),
    (
        "background_health_checks",
        "calls of models to see whether they work",
    ),
    ("custom_auth", "Python code that authenticates"),
    ("default_team_settings", "teams"),
    ("disable_spend_logs", "usage is always recorded"),
    (
        "enable_pre_call_checks",
        "checks of the context before a call; see context_fallbacks",
    ),
    ("guardrails", "filters of prompts and answers"),
    (
        "health_check_interval",
        "calls of models to see whether they work",
    ),
    ("id", "ids of deployments"),
    ("json_logs", "the log's format is a flag of `prowess serve`"),
    (
        "order",
        "order among deployments; use weight 0 for the last",
    ),
    (
        "pass_through_endpoints",
        "further endpoints; /providers/NAME/ has those of providers",
    ),
    ("retry_after", "the least time between retries"),
    ("retry_policy", "retries by kind of error"),
    (
        "set_verbose",
        "the log's level is a flag of `prowess serve`",
    ),
    ("store_model_in_db", "models that are changed over HTTP"),
    ("tags", "routing by tags"),
    ("temperature", "defaults of requests"),
    (
        "use_client_credentials_pass_through_routes",
        "keys of clients on such endpoints",
    ),
    (
        "vertex_credentials",
        "credentials as text; write them to a file, and set its path",
    ),
];

/// What is said of a setting that is not imported, by its path.
pub(super) fn explain(path: &str) -> String {
    let find = |table: &[(&str, &'static str)], name: &str| {
        let mut rows = table.iter();
        rows.find_map(|(known, what)| (*known == name).then_some(*what))
    };
    // A part of a setting is explained by the whole.
    for name in path.rsplit('.') {
        if let Some(instead) = find(ELSEWHERE, name) {
            return instead.to_owned();
        }
        if let Some(what) = find(WITHOUT_EQUIVALENT, name) {
            return format!("{NONE}: {what}");
        }
    }
    NONE.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables as the page shows them.
    fn render() -> String {
        let mut page = "| setting | in Prowess |\n|---|---|\n".to_owned();
        let rows = ELSEWHERE
            .iter()
            .map(|(name, what)| (name, (*what).to_owned()));
        let none = WITHOUT_EQUIVALENT.iter();
        let none = none.map(|(name, what)| (name, format!("none: {what}")));
        for (name, what) in rows.chain(none) {
            page.push_str(&format!("| `{name}` | {what} |\n"));
        }
        page
    }

    #[test]
    fn the_page_has_every_setting_that_is_not_imported() {
        let page =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-litellm.md");
        let mut text = std::fs::read_to_string(&page).unwrap();
        let start = text.find("| setting | in Prowess |").unwrap();
        let table = text.get(start..).unwrap();
        let end = start + table.find("\n\n").map_or(table.len(), |end| end + 1);
        if std::env::var_os("PROWESS_WRITE_DOCS").is_some() {
            text.replace_range(start..end, &render());
            std::fs::write(&page, &text).unwrap();
            return;
        }
        assert_eq!(
            text.get(start..end).unwrap(),
            render(),
            "run this test with PROWESS_WRITE_DOCS=1"
        );
    }

    #[test]
    fn a_part_of_a_setting_is_explained_by_the_whole() {
        let why = explain("litellm_settings.cache_params.type");
        assert_eq!(
            why,
            "responses are not cached; prompt caches of providers work"
        );
        assert_eq!(explain("litellm_settings.something.new"), NONE);
    }

    #[test]
    fn no_setting_is_in_both_tables() {
        for (name, _) in ELSEWHERE {
            assert!(
                !WITHOUT_EQUIVALENT.iter().any(|(other, _)| other == name),
                "{name}"
            );
        }
    }
}
