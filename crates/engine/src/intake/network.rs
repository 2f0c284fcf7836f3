//! The network access that a request specifies for its code: domains, and secrets for them.
//! It gets exactly that if the operator allows all of it.

use prowess_sandbox::{DomainRule, EgressSecret, Network, check_variable};
use prowess_toolbox::NamedSecret;
use prowess_wire::neutral::Map;
use serde_json::Value;

use crate::error::RunError;
use crate::ids;

/// Domains, or secrets, in one policy.
const MAX_LIST_ITEMS: usize = 100;
/// Bytes of a secret.
const MAX_SECRET_BYTES: usize = 8 << 10;

/// A request's network policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NetworkRequest {
    /// The path of the field, for errors.
    field: String,
    domains: Vec<DomainRule>,
    pub(crate) secrets: Vec<NamedSecret>,
}

impl NetworkRequest {
    /// Reads a `network_policy`; none when it is absent.
    pub(crate) fn read(policy: Option<&Value>, field: &str) -> Result<Option<Self>, RunError> {
        let policy = match policy {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(policy)) => policy,
            Some(_) => {
                return Err(RunError::invalid_field(
                    field,
                    "must be an object with a `type`",
                ));
            }
        };
        let mut request = NetworkRequest {
            field: field.to_owned(),
            ..NetworkRequest::default()
        };
        match policy.get("type").and_then(Value::as_str) {
            Some("disabled") => {}
            Some("allowlist") => {
                request.read_domains(policy)?;
                request.read_secrets(policy)?;
            }
            _ => {
                let why = "must be `disabled` or `allowlist`";
                return Err(RunError::invalid_field(format!("{field}.type"), why));
            }
        }
        Ok(Some(request))
    }

    fn read_domains(&mut self, policy: &Map) -> Result<(), RunError> {
        let field = format!("{}.allowed_domains", self.field);
        let domains = optional_list(policy, "allowed_domains", &field)?;
        if domains.is_empty() {
            return Err(RunError::invalid_field(
                field,
                "must list at least one domain",
            ));
        }
        for (i, domain) in domains.iter().enumerate() {
            self.domains
                .push(parse_rule(Some(domain), &format!("{field}[{i}]"))?);
        }
        Ok(())
    }

    fn read_secrets(&mut self, policy: &Map) -> Result<(), RunError> {
        let field = format!("{}.domain_secrets", self.field);
        for (i, secret) in optional_list(policy, "domain_secrets", &field)?
            .iter()
            .enumerate()
        {
            let field = format!("{field}[{i}]");
            let text = |key: &str| secret.get(key).and_then(Value::as_str).unwrap_or_default();
            let domain = parse_rule(secret.get("domain"), &format!("{field}.domain"))?;
            if !self.domains.iter().any(|rule| rule.includes(&domain)) {
                let why = format!("`{domain}` is not among the allowed_domains");
                return Err(RunError::invalid_field(format!("{field}.domain"), why));
            }
            let (name, value) = (text("name"), text("value"));
            if let Err(why) = check_variable(name) {
                return Err(RunError::invalid_field(format!("{field}.name"), why));
            }
            let has_valid_length = !value.is_empty() && value.len() <= MAX_SECRET_BYTES;
            if !has_valid_length || value.chars().any(char::is_control) {
                let why = format!("must be 1 to {MAX_SECRET_BYTES} bytes without line breaks");
                return Err(RunError::invalid_field(format!("{field}.value"), why));
            }
            self.secrets.push(NamedSecret {
                variable: name.to_owned(),
                secret: EgressSecret {
                    stand_in: ids::new_secret_placeholder(),
                    value: value.to_owned(),
                    domain,
                },
            });
        }
        Ok(())
    }

    /// The network policy of a container, if the operator allows every domain.
    pub(crate) fn grant(&self, allowed: &[DomainRule]) -> Result<Network, RunError> {
        let is_allowed = |domain: &&DomainRule| allowed.iter().any(|rule| rule.includes(domain));
        if let Some(refused) = self.domains.iter().find(|domain| !is_allowed(domain)) {
            return Err(RunError::NetworkNotAllowed {
                field: format!("{}.allowed_domains", self.field),
                domain: refused.to_string(),
            });
        }
        Ok(if self.domains.is_empty() {
            Network::Off
        } else {
            Network::Allow(self.domains.clone())
        })
    }

    /// Rejects secrets where they would have to be stored.
    pub(crate) fn reject_secrets(&self) -> Result<(), RunError> {
        if self.secrets.is_empty() {
            return Ok(());
        }
        Err(RunError::invalid_field(
            format!("{}.domain_secrets", self.field),
            "secrets are not stored; send them in the `shell` tool of each request",
        ))
    }
}

fn optional_list<'a>(policy: &'a Map, key: &str, field: &str) -> Result<&'a [Value], RunError> {
    match policy.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) if list.len() <= MAX_LIST_ITEMS => Ok(list),
        Some(_) => {
            let why = format!("must be a list of at most {MAX_LIST_ITEMS}");
            Err(RunError::invalid_field(field, why))
        }
    }
}

fn parse_rule(domain: Option<&Value>, field: &str) -> Result<DomainRule, RunError> {
    let text = domain.and_then(Value::as_str).unwrap_or_default();
    text.parse()
        .map_err(|error: prowess_sandbox::InvalidDomain| {
            RunError::invalid_field(field, error.to_string())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(policy: Value) -> Result<Option<NetworkRequest>, String> {
        NetworkRequest::read(Some(&policy), "network_policy").map_err(|error| error.to_string())
    }

    #[test]
    fn domains_are_granted_all_or_not_at_all() {
        let policy = json!({"type": "allowlist", "allowed_domains": ["a.example.com", "b.org"]});
        let request = read(policy).unwrap().unwrap();
        let rules = |rules: &[&str]| -> Vec<DomainRule> {
            rules.iter().map(|rule| rule.parse().unwrap()).collect()
        };
        let granted = request.grant(&rules(&["*.example.com", "b.org", "c.org"]));
        assert_eq!(
            granted.unwrap(),
            Network::Allow(rules(&["a.example.com", "b.org"]))
        );
        let refused = request.grant(&rules(&["*.example.com"])).unwrap_err();
        insta::assert_snapshot!(refused, @"network_policy.allowed_domains: code that runs here may not reach `b.org`; leave it out, or have the operator name it in `[sandbox] domains`");
        assert_eq!(
            read(json!({"type": "disabled"}))
                .unwrap()
                .unwrap()
                .grant(&[])
                .unwrap(),
            Network::Off
        );
        assert_eq!(NetworkRequest::read(None, "x").unwrap(), None);
    }

    #[test]
    fn an_invalid_policy_is_reported_with_its_field() {
        let secret = |secret: Value| json!({"type": "allowlist", "allowed_domains": ["a.org"], "domain_secrets": [secret]});
        let wrong = [
            json!({"type": "open"}),
            json!({"type": "allowlist"}),
            json!({"type": "allowlist", "allowed_domains": ["10.0.0.1"]}),
            secret(json!({"domain": "b.org", "name": "KEY", "value": "v"})),
            secret(json!({"domain": "a.org", "name": "K=", "value": "v"})),
            secret(json!({"domain": "a.org", "name": "LD_PRELOAD", "value": "v"})),
            secret(json!({"domain": "a.org", "name": "KEY", "value": "a\r\nb"})),
        ];
        let errors = wrong.map(|policy| read(policy).unwrap_err());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        network_policy.type: must be `disabled` or `allowlist`
        network_policy.allowed_domains: must list at least one domain
        network_policy.allowed_domains[0]: "10.0.0.1" is not a domain: write example.com, or *.example.com for all of its subdomains
        network_policy.domain_secrets[0].domain: `b.org` is not among the allowed_domains
        network_policy.domain_secrets[0].name: must be 1 to 100 of A-Z, 0-9 and _, and not begin with a digit
        network_policy.domain_secrets[0].name: means something to the system or to programs that run there; choose another name, such as API_KEY
        network_policy.domain_secrets[0].value: must be 1 to 8192 bytes without line breaks
        "#);
    }

    #[test]
    fn a_secret_cannot_be_named_like_a_variable_that_steers_programs() {
        for name in [
            "LD_PRELOAD",
            "PATH",
            "http_proxy",
            "HTTPS_PROXY",
            "PYTHONPATH",
            "BASH_ENV",
            "GIT_SSH_COMMAND",
            "NODE_OPTIONS",
            "PIP_INDEX_URL",
            "SSL_CERT_FILE",
        ] {
            let policy = json!({"type": "allowlist", "allowed_domains": ["a.org"],
                "domain_secrets": [{"domain": "a.org", "name": name, "value": "v"}]});
            let refused = read(policy).unwrap_err();
            assert!(
                refused.contains("domain_secrets[0].name"),
                "{name}: {refused}"
            );
        }
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        let policy = json!({"type": "allowlist", "allowed_domains": ["a.org"],
            "domain_secrets": [{"domain": "a.org", "name": "KEY", "value": "s3cret"}]});
        let request = read(policy).unwrap().unwrap();
        assert!(!format!("{request:?}").contains("s3cret"));
        assert!(request.reject_secrets().is_err());
    }
}
