//! Well-known providers of clouds are ready if credentials are visible without a request.

use prowess_provider::config::ProvidersConfig;
use prowess_provider::{Env, Providers};

fn is_ready<const N: usize>(model: &str, env: [(&str, &str); N]) -> bool {
    let providers = Providers::new(ProvidersConfig {
        env: Env::from_pairs(env),
        ..ProvidersConfig::default()
    });
    providers.unwrap().route(model).is_ok()
}

#[test]
fn a_cloud_counts_only_if_its_credentials_are_visible() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_str().unwrap();
    let aws = "bedrock/anthropic.claude-x";
    assert!(!is_ready(aws, [("AWS_REGION", "r"), ("HOME", path)]));
    for name in ["AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"] {
        assert!(is_ready(aws, [("AWS_REGION", "r"), (name, "x")]), "{name}");
    }
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    std::fs::write(home.path().join(".aws/credentials"), "[default]").unwrap();
    assert!(is_ready(aws, [("AWS_REGION", "r"), ("HOME", path)]));

    let google = "vertex_ai/claude-x";
    let project = ("VERTEXAI_PROJECT", "p1");
    assert!(!is_ready(google, [project, ("HOME", path)]));
    let folder = home.path().join(".config/gcloud");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("application_default_credentials.json"), "{}").unwrap();
    assert!(is_ready(google, [project, ("HOME", path)]));
    assert!(is_ready(
        google,
        [project, ("GCE_METADATA_HOST", "metadata.google.internal")]
    ));
}
