//! Which failures may pass: callers tell their clients to try again then, and only then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use prowess_cloud::{
    AzureTokenOptions, AzureTokens, CloudError, CredentialSource, GoogleTokenOptions, GoogleTokens,
};
use serde_json::json;

use crate::stand_in::{StandIn, clock, json, variables};

/// A status that stands for no answer at all.
const GONE: u16 = 0;

/// The metadata services of Google and Azure, with a status that can be changed.
fn metadata(status: u16) -> (Arc<StandIn>, Arc<AtomicU16>) {
    let current = Arc::new(AtomicU16::new(status));
    let shared = Arc::clone(&current);
    let service = StandIn::new(move |_| answer(shared.load(Ordering::Relaxed)));
    (service, current)
}

fn answer(status: u16) -> Option<Response<Bytes>> {
    match status {
        GONE => None,
        200 => json(
            200,
            json!({"access_token": "t", "expires_in": 3599, "expires_on": "32503680000"}),
        ),
        status => json(status, ""),
    }
}

/// When to try again, in seconds; `None` for a failure that does not pass.
fn retry(error: &CloudError) -> Option<u64> {
    error.retry_after().as_ref().map(Duration::as_secs)
}

/// Asks a source before and after its service gave a token.
async fn check<S: CredentialSource>(source: S, status: &AtomicU16, name: &str) {
    let failure = async |new: u16| {
        status.store(new, Ordering::Relaxed);
        let Err(error) = source.fetch().await else {
            return (String::new(), None);
        };
        (error.to_string(), retry(&error))
    };
    let (text, after) = failure(503).await;
    let host = "169.254.169.254";
    assert_eq!(
        text,
        format!("{name}: {host} returned 503 Service Unavailable")
    );
    assert_eq!(after, Some(1));
    assert_eq!(failure(403).await.1, None);
    // Nobody is there: another place, and not an outage.
    let (text, after) = failure(GONE).await;
    assert!(text.starts_with("found no "), "{text}");
    assert_eq!(after, None);

    assert_eq!(failure(200).await.0, "");
    let (text, after) = failure(GONE).await;
    assert_eq!(text, format!("{name}: {host}: it does not exist"));
    assert_eq!(after, Some(1));
    assert_eq!(failure(403).await.1, None);
}

#[tokio::test(start_paused = true)]
async fn a_metadata_server_of_google_that_fails_may_answer_again() {
    let (service, status) = metadata(200);
    let options = GoogleTokenOptions::default();
    let source = GoogleTokens::new(options, variables([]), service as _, clock());
    check(source, &status, "metadata server").await;
}

#[tokio::test(start_paused = true)]
async fn a_managed_identity_of_azure_that_fails_may_answer_again() {
    let (service, status) = metadata(200);
    let options = AzureTokenOptions::default();
    let source = AzureTokens::new(options, variables([]), service as _, clock());
    check(source, &status, "managed identity").await;
}

#[cfg(feature = "aws")]
mod aws {
    use prowess_cloud::AwsChain;

    use super::*;
    use crate::aws::{LIFETIME, options, role_json};

    /// A refusal of STS.
    fn refusal(status: u16, code: &str) -> Option<Response<Bytes>> {
        json(
            status,
            format!(
                "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error>\
                 <Type>Sender</Type><Code>{code}</Code><Message>no</Message></Error>\
                 <RequestId>1</RequestId></ErrorResponse>"
            ),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_that_sts_cannot_give_now_may_be_given_later() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "jwt-of-the-pod").unwrap();
        for (status, code, after) in [
            (503, "ServiceUnavailable", Some(1)),
            (400, "Throttling", Some(1)),
            (GONE, "", Some(1)),
            (403, "AccessDenied", None),
            (400, "InvalidIdentityToken", None),
        ] {
            let service = StandIn::new(move |_| match status {
                GONE => None,
                status => refusal(status, code),
            });
            let env = variables([
                ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
                ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader"),
            ]);
            let chain = AwsChain::new(options(), env, service as _, clock());
            let error = chain.fetch().await.unwrap_err();
            assert_eq!(retry(&error), after, "{status} {code}: {error}");
            assert!(error.to_string().starts_with("web identity: "), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_instances_metadata_service_that_fails_may_answer_again() {
        let clock = clock();
        let (current, wall) = (Arc::new(AtomicU16::new(503)), clock.clone());
        let status = Arc::clone(&current);
        let service = StandIn::new(move |request| {
            const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
            match (status.load(Ordering::Relaxed), request.uri().path()) {
                (GONE, _) => None,
                (200, "/latest/api/token") => {
                    let ttl = request.headers().get(TTL)?.clone();
                    let mut response = Response::new(Bytes::from_static(b"session-1"));
                    response.headers_mut().insert(TTL, ttl);
                    Some(response)
                }
                (200, "/latest/meta-data/iam/security-credentials/") => json(200, "role-1"),
                (200, _) => role_json("AK1", wall.now() + LIFETIME),
                (status, _) => json(status, ""),
            }
        });
        let chain = AwsChain::new(options(), variables([]), service as _, clock);
        let error = chain.fetch().await.unwrap_err();
        assert_eq!(retry(&error), Some(1), "{error}");
        current.store(GONE, Ordering::Relaxed);
        let error = chain.fetch().await.unwrap_err();
        assert_eq!(retry(&error), None, "{error}");
        assert!(error.to_string().starts_with("found no AWS credentials"));
        current.store(200, Ordering::Relaxed);
        chain.fetch().await.unwrap();
        current.store(GONE, Ordering::Relaxed);
        let error = chain.fetch().await.unwrap_err();
        assert_eq!(retry(&error), Some(1), "{error}");
    }
}
