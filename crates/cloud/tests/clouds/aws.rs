//! AWS's sources.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Response;
use prowess_cloud::{AwsChain, AwsChainOptions, CredentialSource, Variables};
use serde_json::json;

use crate::stand_in::{StandIn, clock, fields, header, json, seconds, variables};

const ROLE: &str = "arn:aws:iam::123456789012:role/reader";
pub(crate) const LIFETIME: Duration = Duration::from_secs(15 * 60);

pub(crate) fn options() -> AwsChainOptions {
    AwsChainOptions {
        region: "us-east-1".to_owned(),
        ..AwsChainOptions::default()
    }
}

/// The key id and the session token that a chain finds.
async fn found(
    options: AwsChainOptions,
    variables: Variables,
    service: &Arc<StandIn>,
) -> (String, Option<String>) {
    let chain = AwsChain::new(options, variables, Arc::clone(service) as _, clock());
    let found = chain.fetch().await.unwrap().value;
    let token = found.session_token().map(str::to_owned);
    (found.access_key_id().to_owned(), token)
}

fn written(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap().to_string()
}

/// What metadata services answer.
pub(crate) fn role_json(key: &str, expires: SystemTime) -> Option<Response<Bytes>> {
    json(
        200,
        json!({
            "Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2026-11-15T01:00:00Z",
            "AccessKeyId": key, "SecretAccessKey": "sk-1", "Token": format!("token of {key}"),
            "Expiration": written(expires),
        }),
    )
}

/// What STS answers.
fn sts_xml(action: &str, key: &str, expires: SystemTime) -> Option<Response<Bytes>> {
    let expires = written(expires);
    json(
        200,
        format!(
            "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result>\
             <Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>sk-1</SecretAccessKey>\
             <SessionToken>token of {key}</SessionToken><Expiration>{expires}</Expiration>\
             </Credentials><AssumedRoleUser>\
             <Arn>arn:aws:sts::123456789012:assumed-role/reader/prowess</Arn>\
             <AssumedRoleId>AROA:prowess</AssumedRoleId></AssumedRoleUser></{action}Result>\
             <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>"
        ),
    )
}

/// A home folder with these files.
fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn keys_in_variables_need_no_service() {
    let service = StandIn::nowhere();
    let env = variables([
        ("AWS_ACCESS_KEY_ID", "AKENV"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
    ]);
    assert_eq!(found(options(), env, &service).await.0, "AKENV");
    assert!(service.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_profile_has_keys_or_names_a_role_to_assume_with_another() {
    let home = home(&[(
        ".aws/config",
        "[profile plain]\naws_access_key_id = AKPLAIN\naws_secret_access_key = s\n\
         [profile role]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = plain\n",
    )]);
    let clock = clock();
    let service = StandIn::new(move |_| sts_xml("AssumeRole", "AKROLE", clock.now() + LIFETIME));
    let env = || {
        variables([
            ("HOME", text(home.path())),
            ("AWS_PROFILE", "plain"),
            // A configured profile is meant instead of these.
            ("AWS_ACCESS_KEY_ID", "AKENV"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
        ])
    };
    let by_variable = variables([("HOME", text(home.path())), ("AWS_PROFILE", "plain")]);
    assert_eq!(found(options(), by_variable, &service).await.0, "AKPLAIN");
    let configured = AwsChainOptions {
        profile: Some("role".to_owned()),
        ..options()
    };
    let (key, token) = found(configured, env(), &service).await;
    assert_eq!(
        (key.as_str(), token.as_deref()),
        ("AKROLE", Some("token of AKROLE"))
    );
    let request = service.requests().pop().unwrap();
    assert_eq!(request.uri().host(), Some("sts.us-east-1.amazonaws.com"));
    let fields = fields(&request);
    assert_eq!(fields.get("Action").unwrap(), "AssumeRole");
    assert_eq!(fields.get("RoleArn").unwrap(), ROLE);
    assert!(
        header(&request, "authorization")
            .unwrap()
            .contains("AKPLAIN/")
    );
}

#[tokio::test(start_paused = true)]
async fn a_configured_role_is_assumed_with_configured_keys() {
    let clock = clock();
    let service = StandIn::new(move |_| sts_xml("AssumeRole", "AKROLE", clock.now() + LIFETIME));
    let base = || {
        Ok(aws_credential_types::Credentials::new(
            "AKBASE", "s", None, None, "test",
        ))
    };
    let options = AwsChainOptions {
        role_arn: Some(ROLE.to_owned()),
        external_id: Some("x-1".to_owned()),
        base: Some(Arc::new(base)),
        ..options()
    };
    assert_eq!(found(options, variables([]), &service).await.0, "AKROLE");
    let request = service.requests().pop().unwrap();
    let fields = fields(&request);
    assert_eq!(fields.get("ExternalId").unwrap(), "x-1");
    assert_eq!(fields.get("RoleSessionName").unwrap(), "prowess");
    assert!(
        header(&request, "authorization")
            .unwrap()
            .contains("AKBASE/")
    );
}

#[tokio::test(start_paused = true)]
async fn a_web_identity_token_is_exchanged() {
    let home = home(&[("token", "jwt-of-the-pod")]);
    let token = home.path().join("token");
    let clock = clock();
    let service = StandIn::new(move |_| {
        sts_xml("AssumeRoleWithWebIdentity", "AKWEB", clock.now() + LIFETIME)
    });
    let env = variables([
        ("AWS_WEB_IDENTITY_TOKEN_FILE", text(&token)),
        ("AWS_ROLE_ARN", ROLE),
    ]);
    assert_eq!(found(options(), env, &service).await.0, "AKWEB");
    let request = service.requests().pop().unwrap();
    let fields = fields(&request);
    assert_eq!(fields.get("Action").unwrap(), "AssumeRoleWithWebIdentity");
    assert_eq!(fields.get("WebIdentityToken").unwrap(), "jwt-of-the-pod");
    assert_eq!(header(&request, "authorization"), None);
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_of_sso_gives_the_credentials_of_a_role() {
    // The file's name is the SHA-1 of the session's name.
    let home = home(&[
        (
            ".aws/config",
            "[profile work]\nsso_session = corp\nsso_account_id = 123456789012\n\
             sso_role_name = reader\n[sso-session corp]\nsso_region = eu-west-1\n\
             sso_start_url = https://corp.awsapps.com/start\nsso_registration_scopes = sso:account:access\n",
        ),
        (
            ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json",
            r#"{"accessToken":"sso-token","expiresAt":"2026-11-16T00:00:00Z","region":"eu-west-1","startUrl":"https://corp.awsapps.com/start"}"#,
        ),
    ]);
    let clock = clock();
    let service = StandIn::new(move |_| {
        json(
            200,
            json!({"roleCredentials": {
                "accessKeyId": "AKSSO", "secretAccessKey": "s", "sessionToken": "t",
                "expiration": seconds(clock.now() + LIFETIME) * 1000,
            }}),
        )
    });
    let env = variables([("HOME", text(home.path())), ("AWS_PROFILE", "work")]);
    assert_eq!(found(options(), env, &service).await.0, "AKSSO");
    let request = service.requests().pop().unwrap();
    assert_eq!(
        request.uri().host(),
        Some("portal.sso.eu-west-1.amazonaws.com")
    );
    assert_eq!(
        header(&request, "x-amz-sso_bearer_token"),
        Some("sso-token")
    );

    // Nobody signed in.
    std::fs::remove_dir_all(home.path().join(".aws/sso")).unwrap();
    let env = variables([("HOME", text(home.path())), ("AWS_PROFILE", "work")]);
    let chain = AwsChain::new(options(), env, service, crate::stand_in::clock());
    let error = chain.fetch().await.unwrap_err().to_string();
    assert!(error.starts_with("profile \"work\": "), "{error}");
    assert!(error.ends_with("run `aws sso login`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn containers_of_ecs_and_eks_have_their_own_address() {
    let home = home(&[("token", "pod-token")]);
    let token = home.path().join("token");
    let clock = clock();
    let service = StandIn::new(move |_| role_json("AKTASK", clock.now() + LIFETIME));
    let ecs = variables([(
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "/v2/credentials/1",
    )]);
    let (key, session) = found(options(), ecs, &service).await;
    assert_eq!(
        (key.as_str(), session.as_deref()),
        ("AKTASK", Some("token of AKTASK"))
    );
    let eks = variables([
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1/credentials",
        ),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text(&token)),
    ]);
    assert_eq!(found(options(), eks, &service).await.0, "AKTASK");
    assert_eq!(
        service.lines(),
        [
            "GET http://169.254.170.2/v2/credentials/1",
            "GET http://169.254.170.23/v1/credentials"
        ]
    );
    let pod = service.requests().pop().unwrap();
    assert_eq!(header(&pod, "authorization"), Some("pod-token"));
    // Any other address in clear text is refused, so that the token does not leave the host.
    let elsewhere = variables([
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://10.0.0.7/credentials",
        ),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text(&token)),
    ]);
    let chain = AwsChain::new(
        options(),
        elsewhere,
        Arc::clone(&service) as _,
        crate::stand_in::clock(),
    );
    let error = chain.fetch().await.unwrap_err().to_string();
    assert!(error.starts_with("container: "), "{error}");
    assert_eq!(service.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_any_source_the_error_has_a_reason_for_each() {
    let home = home(&[]);
    let env = variables([("HOME", text(home.path()))]);
    let chain = AwsChain::new(options(), env, StandIn::nowhere(), clock());
    let error = chain.fetch().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "found no AWS credentials (environment: AWS_ACCESS_KEY_ID is not set; profile \"default\": \
         it is not in ~/.aws/config or ~/.aws/credentials, or has none; web identity: \
         AWS_WEB_IDENTITY_TOKEN_FILE is not set; container: \
         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not set; instance metadata: 169.254.169.254: it \
         does not exist); set access_key_id and secret_access_key or profile in the provider's \
         configuration, or AWS_PROFILE"
    );
}
