//! The sources of AWS's chain: the variables that the library reads, and what each source says
//! when there are no credentials.

use std::collections::HashMap;
use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_types::os_shim_internal::Env;

use super::connector::TransportClient;
use crate::error::SourceReport;
use crate::variables::Variables;

/// The library's variables that concern credentials. It can be given values, but not a function.
const VARIABLES: [&str; 31] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_ACCOUNT_ID",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_SSO",
    "AWS_ENDPOINT_URL_SSO_OIDC",
    "AWS_ENDPOINT_URL_STS",
    "AWS_EXECUTION_ENV",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_MAX_ATTEMPTS",
    "AWS_PROFILE",
    "AWS_RETRY_MODE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "HOME",
    "HOMEDRIVE",
    "USERPROFILE",
];
const KEYS: [&str; 3] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
];
const CONTAINER: [&str; 2] = [
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
/// Longer messages of services are cut.
const MAX_REASON_CHARS: usize = 400;

/// The variables for the library. A configured profile is meant instead of keys in variables.
pub(super) fn library_variables(variables: &Variables, without_keys: bool) -> Env {
    let names = VARIABLES.into_iter();
    let names = names.filter(|name| !(without_keys && KEYS.contains(name)));
    let all = names.filter_map(|name| Some((name.to_owned(), variables.get(name)?)));
    Env::from(all.collect::<HashMap<String, String>>())
}

/// What each source says, in the order of the chain.
pub(super) fn reports(
    variables: &Variables,
    profile: Option<&str>,
    client: &TransportClient,
) -> Vec<SourceReport> {
    let unset = |name: &str| match variables.get(name) {
        Some(_) => format!("{name} is set, but gave none"),
        None => format!("{name} is not set"),
    };
    let profile = profile_name(variables, profile);
    let container = CONTAINER.into_iter().find(|n| variables.get(n).is_some());
    let mut reports = vec![
        SourceReport::new("environment", unset("AWS_ACCESS_KEY_ID")),
        SourceReport::new(
            format!("profile {profile:?}"),
            "it is not in ~/.aws/config or ~/.aws/credentials, or has none",
        ),
        SourceReport::new("web identity", unset("AWS_WEB_IDENTITY_TOKEN_FILE")),
        SourceReport::new("container", unset(container.unwrap_or(CONTAINER[0]))),
    ];
    let failures = client.failures();
    match failures.is_empty() {
        true => reports.push(SourceReport::new("instance metadata", "it has none")),
        false => reports.extend(
            failures
                .into_iter()
                .map(|failure| failure.report.to_string())
                .map(|report| SourceReport::new("instance metadata", report)),
        ),
    }
    reports
}

/// The first source that is set up, which is the one that the library used.
pub(super) fn first_visible(variables: &Variables, profile: Option<&str>) -> String {
    let is_set = |name: &str| variables.get(name).is_some();
    if profile.is_none() && is_set("AWS_ACCESS_KEY_ID") {
        "environment".to_owned()
    } else if profile.is_some() || is_set("AWS_PROFILE") {
        format!("profile {:?}", profile_name(variables, profile))
    } else if is_set("AWS_WEB_IDENTITY_TOKEN_FILE") {
        "web identity".to_owned()
    } else if CONTAINER.into_iter().any(is_set) {
        "container".to_owned()
    } else {
        "AWS's default chain".to_owned()
    }
}

fn profile_name(variables: &Variables, profile: Option<&str>) -> String {
    let named = || variables.get("AWS_PROFILE");
    let name = profile.map(str::to_owned).or_else(named);
    name.unwrap_or_else(|| "default".to_owned())
}

/// An error with its causes. Only their messages: the rest may contain whole responses.
pub(super) fn reason(error: &CredentialsError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text.chars().take(MAX_REASON_CHARS).collect()
}
