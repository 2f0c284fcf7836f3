//! Which webhooks announce the end of a run, and their bodies.
//!
//! Bodies have the form of OpenAI's events: the type and the id, and no content of the run,
//! which the receiver fetches by the id. Computes only: no clock, no store.

use prowess_store::{NewWebhook, RunState, TenantId};
use serde_json::json;

use super::settings::WebhookSettings;

const RUN_ID_PREFIX: &str = "run_";

/// A run that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedRun<'a> {
    /// `run_…`
    pub(crate) run: &'a str,
    /// The id of its response, if `/v1/responses` began it.
    pub(crate) response: Option<&'a str>,
    /// Its tenant.
    pub(crate) tenant: &'a TenantId,
    /// Id and name of its key; none for the master key.
    pub(crate) key: Option<(&'a str, &'a str)>,
    /// The URL that the request named, as checked.
    pub(crate) requested_url: Option<&'a str>,
    /// The state in which it ends.
    pub(crate) state: RunState,
    /// When, in seconds since 1970.
    pub(crate) ended_at: i64,
}

/// A webhook to be stored when its run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunWebhook {
    pub(crate) url: String,
    pub(crate) body: String,
}

impl RunWebhook {
    /// As it is stored.
    pub(crate) fn as_new(&self) -> NewWebhook<'_> {
        NewWebhook {
            url: &self.url,
            body: &self.body,
        }
    }
}

/// The webhooks that announce the end of a run: one for each URL. None for a state that is
/// not announced.
pub(crate) fn webhooks_for(settings: &WebhookSettings, run: &EndedRun<'_>) -> Vec<RunWebhook> {
    let Some(event) = event_type(run) else {
        return Vec::new();
    };
    let key: Vec<&str> = run.key.iter().flat_map(|(id, name)| [*id, *name]).collect();
    let matching = settings.endpoints.iter().filter(|endpoint| {
        endpoint.has_event(&event) && endpoint.has_tenant(run.tenant) && endpoint.has_key(&key)
    });
    let mut urls: Vec<&str> = Vec::new();
    for url in matching
        .map(|endpoint| endpoint.url.as_str())
        .chain(run.requested_url)
    {
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    let body = event_body(&event, run);
    urls.into_iter()
        .map(|url| RunWebhook {
            url: url.to_owned(),
            body: body.clone(),
        })
        .collect()
}

fn event_type(run: &EndedRun<'_>) -> Option<String> {
    let object = match run.response {
        Some(_) => "response",
        None => "run",
    };
    match run.state {
        RunState::Completed | RunState::Failed | RunState::Cancelled | RunState::Incomplete => {
            Some(format!("{object}.{}", run.state.as_str()))
        }
        RunState::Queued | RunState::Running | RunState::Interrupted => None,
    }
}

/// A run ends once, so its id gives the id of the event: a receiver that gets the event
/// twice recognizes it.
fn event_body(event: &str, run: &EndedRun<'_>) -> String {
    let id = run.run.strip_prefix(RUN_ID_PREFIX).unwrap_or(run.run);
    let body = json!({
        "object": "event",
        "id": format!("evt_{id}"),
        "type": event,
        "created_at": run.ended_at,
        "data": { "id": run.response.unwrap_or(run.run) },
    });
    body.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::settings::{WEBHOOK_EVENTS, WebhookEndpoint};
    use super::super::signature::SigningSecret;
    use super::*;

    fn endpoint(url: &str) -> WebhookEndpoint {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        WebhookEndpoint::new(url, secret).unwrap()
    }

    fn settings(endpoints: Vec<WebhookEndpoint>) -> WebhookSettings {
        WebhookSettings {
            endpoints,
            ..WebhookSettings::default()
        }
    }

    fn ended(tenant: &TenantId) -> EndedRun<'_> {
        EndedRun {
            run: "run_1",
            response: Some("resp_2"),
            tenant,
            key: Some(("key_3", "ci")),
            requested_url: None,
            state: RunState::Completed,
            ended_at: 1_794_000_000,
        }
    }

    fn urls(settings: &WebhookSettings, run: &EndedRun<'_>) -> Vec<String> {
        let webhooks = webhooks_for(settings, run);
        webhooks.into_iter().map(|webhook| webhook.url).collect()
    }

    #[test]
    fn the_body_names_the_event_and_what_to_fetch() {
        let tenant = TenantId::default_tenant();
        let settings = settings(vec![endpoint("https://a.test/")]);
        let body = |run: &EndedRun<'_>| webhooks_for(&settings, run).remove(0).body;
        insta::assert_snapshot!(body(&ended(&tenant)), @r#"{"object":"event","id":"evt_1","type":"response.completed","created_at":1794000000,"data":{"id":"resp_2"}}"#);
        let run = EndedRun {
            response: None,
            state: RunState::Failed,
            ..ended(&tenant)
        };
        insta::assert_snapshot!(body(&run), @r#"{"object":"event","id":"evt_1","type":"run.failed","created_at":1794000000,"data":{"id":"run_1"}}"#);
    }

    #[test]
    fn each_event_can_be_chosen_and_nothing_else_is_announced() {
        let tenant = TenantId::default_tenant();
        let mut announced = Vec::new();
        for response in [Some("resp_2"), None] {
            for state in RunState::ALL {
                let run = EndedRun {
                    response,
                    state,
                    ..ended(&tenant)
                };
                announced.extend(event_type(&run));
                for event in WEBHOOK_EVENTS {
                    let chosen = endpoint("https://a.test/").with_events(vec![event.to_owned()]);
                    let sent = urls(&settings(vec![chosen.unwrap()]), &run).len();
                    let same = event_type(&run).is_some_and(|own| own == event);
                    assert_eq!(sent, usize::from(same), "{event} {state:?}");
                }
            }
        }
        assert_eq!(announced, WEBHOOK_EVENTS);
    }

    #[test]
    fn endpoints_get_the_runs_of_their_keys_and_tenants_only() {
        let tenant = TenantId::default_tenant();
        let other = TenantId::new("other").unwrap();
        let by_key = |name: &str| endpoint("https://a.test/").with_keys(vec![name.to_owned()]);
        let owner = EndedRun {
            key: None,
            ..ended(&tenant)
        };
        for (key, run, sent) in [
            ("ci", ended(&tenant), 1),
            ("key_3", ended(&tenant), 1),
            ("web", ended(&tenant), 0),
            ("ci", owner, 0),
        ] {
            assert_eq!(urls(&settings(vec![by_key(key)]), &run).len(), sent);
        }
        let by_tenant = endpoint("https://a.test/").with_tenants(vec![other.clone()]);
        let settings = settings(vec![by_tenant]);
        assert_eq!(urls(&settings, &ended(&tenant)).len(), 0);
        assert_eq!(urls(&settings, &ended(&other)).len(), 1);
    }

    #[test]
    fn each_url_gets_the_event_once() {
        let tenant = TenantId::default_tenant();
        let settings = settings(vec![
            endpoint("https://a.test/"),
            endpoint("https://b.test/"),
            endpoint("https://a.test/"),
        ]);
        let run = EndedRun {
            requested_url: Some("https://c.test/"),
            ..ended(&tenant)
        };
        assert_eq!(
            urls(&settings, &run),
            ["https://a.test/", "https://b.test/", "https://c.test/"]
        );
        let again = EndedRun {
            requested_url: Some("https://b.test/"),
            ..run
        };
        assert_eq!(urls(&settings, &again).len(), 2);
    }
}
