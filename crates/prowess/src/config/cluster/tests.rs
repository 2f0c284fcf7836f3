//! What a cluster needs, and what is said when it is not there.

use std::path::Path;
use std::time::Duration;

use crate::config::{Config, ConfigError, ConfigOverrides};

const STORE: &str = "[store]\nurl = \"postgres://u@h/d\"\n[blobs]\nurl = \"s3://b/p\"\n";

fn read_config(text: &str) -> Result<Config, ConfigError> {
    let overrides = ConfigOverrides {
        data_dir: Some("/data".into()),
        ..ConfigOverrides::default()
    };
    Config::read(text, Path::new(""), &overrides)
}

fn first_problem(cluster: &str) -> String {
    let text = format!("[cluster]\n{cluster}\n{STORE}");
    read_config(&text).unwrap_err().to_string()
}

#[test]
fn without_servers_there_is_no_cluster() {
    assert!(read_config("").unwrap().cluster.is_none());
    let text = "[cluster]\nnats = []\nnamespace = \"other\"\nworker_wait = \"5s\"\n";
    assert!(read_config(text).unwrap().cluster.is_none());
    insta::assert_snapshot!(first_problem("gateway = \"g\""), @"line 2: cluster.gateway: has no effect without cluster.nats");
    insta::assert_snapshot!(first_problem("tls_ca = \"/x\""), @"line 2: cluster.tls_ca: has no effect without cluster.nats");
}

#[test]
fn every_setting_is_read() {
    let text = format!(
        "[cluster]\nnats = [\"nats://a:4222\", \"tls://u:p@b\"]\nuser = \"gateway\"\n\
         password = \"env:CARGO_MANIFEST_DIR\"\ntls_ca = \"/ca.pem\"\ngateway = \"g-1\"\n\
         namespace = \"company.test\"\nworker_wait = \"5s\"\n{STORE}"
    );
    let cluster = read_config(&text).unwrap().cluster.unwrap();
    let servers: Vec<_> = cluster
        .servers
        .iter()
        .map(|server| server.expose())
        .collect();
    assert_eq!(servers, ["nats://a:4222", "tls://u:p@b"]);
    assert_eq!(cluster.user.as_deref(), Some("gateway"));
    assert_eq!(
        cluster.password.unwrap().expose(),
        env!("CARGO_MANIFEST_DIR")
    );
    assert_eq!(cluster.tls_ca.as_deref(), Some(Path::new("/ca.pem")));
    assert_eq!(cluster.gateway.as_deref(), Some("g-1"));
    assert_eq!(cluster.namespace, "company.test");
    assert_eq!(cluster.worker_wait, Duration::from_secs(5));
    let text = format!("[cluster]\nnats = \"nats://a\"\ntoken = \"the-token\"\n{STORE}");
    let cluster = read_config(&text).unwrap().cluster.unwrap();
    assert_eq!(cluster.token.unwrap().expose(), "the-token");
}

#[test]
fn a_cluster_needs_a_store_that_gateways_share() {
    let with = |store: &str| {
        let text = format!("[cluster]\nnats = \"nats://a\"\n{store}");
        read_config(&text).unwrap_err().to_string()
    };
    insta::assert_snapshot!(with(""), @"line 2: cluster.nats: a cluster needs PostgreSQL, which all gateways share: set store.url, for instance postgres://user@host/prowess; or remove [cluster]");
    insta::assert_snapshot!(with("[store]\nurl = \"postgres://u@h/d\"\n"), @"line 2: cluster.nats: a cluster needs object storage that all gateways share and that can sign URLs for workers: set blobs.url, for instance s3://bucket/prefix; or remove [cluster]");
}

#[test]
fn a_worker_needs_no_store() {
    let config = read_config("[cluster]\nnats = \"nats://a\"\n[worker]\nid = \"w-1\"\n").unwrap();
    assert!(config.cluster.is_some());
    assert_eq!(config.worker.id.as_deref(), Some("w-1"));
}

#[test]
fn wrong_values_are_refused_with_their_place_and_without_secrets() {
    insta::assert_snapshot!(first_problem("nats = \"http://user:hunter2@a\""), @"line 2: cluster.nats: must be the address of a NATS server, for instance nats://host:4222 or tls://host:4222");
    insta::assert_snapshot!(first_problem("nats = 4222"), @"line 2: cluster.nats: must be text in quotes, or a list of such texts in brackets, not integer `4222`");
    insta::assert_snapshot!(first_problem("nat = \"nats://a\""), @"line 2: `cluster.nat` is not a setting; did you mean `nats`?");
    insta::assert_snapshot!(first_problem("nats = \"nats://a\"\nuser = \"u\""), @"line 3: cluster.user: user and password only work together");
    insta::assert_snapshot!(first_problem("nats = \"nats://a\"\nuser = \"u\"\npassword = \"hunter2\"\ntoken = \"t\""), @"line 5: cluster.token: set either a token, or user and password");
    insta::assert_snapshot!(first_problem("nats = \"nats://a\"\ntoken = \"env:NO_SUCH_VARIABLE\""), @"line 3: cluster.token: the environment has no variable `NO_SUCH_VARIABLE`, or it is not text");
    insta::assert_snapshot!(first_problem("nats = \"nats://a\"\ngateway = \"a.b\""), @"line 3: cluster.gateway: `a.b` must be 1 to 64 letters, digits, `_` and `-`");
    insta::assert_snapshot!(first_problem("nats = \"nats://a\"\nnamespace = \"a.>\""), @"line 3: cluster.namespace: `a.>` must be 1 to 64 letters, digits, `_` and `-`");
    insta::assert_snapshot!(first_problem("nats = \"nats://a\"\nworker_wait = 0"), @"line 3: cluster.worker_wait: must be more than 0");
}
