//! Credentials of AWS's instances, over hours.

use std::sync::Arc;

use aws_credential_types::Credentials;
use bytes::Bytes;
use http::{Request, Response};
use prowess_cloud::{AwsChain, CloudClock, CredentialCache, CredentialSource};

use crate::aws::{LIFETIME, options, role_json};
use crate::expiry::{check_fetches, use_for_hours};
use crate::stand_in::{StandIn, clock, header, json, seconds, variables};

/// An instance's metadata service, version 2: every request needs the token of a session.
fn instance(clock: CloudClock) -> Arc<StandIn> {
    StandIn::new(move |request: &Request<Bytes>| {
        const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
        if request.uri().host() != Some("169.254.169.254") {
            return None;
        }
        if request.method() == http::Method::PUT {
            assert_eq!(request.uri().path(), "/latest/api/token");
            let ttl = request.headers().get(TTL)?.clone();
            let mut response = Response::new(Bytes::from_static(b"session-1"));
            response.headers_mut().insert(TTL, ttl);
            return Some(response);
        }
        if header(request, "x-aws-ec2-metadata-token") != Some("session-1") {
            return json(401, "");
        }
        match request.uri().path() {
            "/latest/meta-data/iam/security-credentials/" => json(200, "role-1"),
            "/latest/meta-data/iam/security-credentials/role-1" => {
                let expires = clock.now() + LIFETIME;
                role_json(&format!("AK{}", seconds(expires)), expires)
            }
            _ => json(404, ""),
        }
    })
}

fn expiry_of(found: &Credentials) -> u64 {
    let id = found.access_key_id();
    id.strip_prefix("AK").unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_or_fails_at_a_refresh_of_an_instances_credentials() {
    let clock = clock();
    let service = instance(clock.clone());
    let env = variables([]);
    let chain = AwsChain::new(options(), env, Arc::clone(&service) as _, clock.clone());
    let cache = CredentialCache::new(chain, clock.clone());
    let waited = use_for_hours(cache, &clock, expiry_of).await;
    assert_eq!(waited, 200);
    let of_role = |line: &&String| line.ends_with("/security-credentials/role-1");
    check_fetches(service.lines().iter().filter(of_role).count());
}

#[tokio::test(start_paused = true)]
async fn secrets_are_not_printed() {
    let service = instance(clock());
    let chain = AwsChain::new(options(), variables([]), Arc::clone(&service) as _, clock());
    let found = chain.fetch().await.unwrap();
    let printed = format!("{found:?} {chain:?}");
    assert!(!printed.contains("sk-1"), "{printed}");
    assert!(!printed.contains("token of"), "{printed}");
}
