//! The real server with a scripted model, the provider `stage`.

use tempfile::TempDir;

use super::server::TestServer;

/// The provider; more configuration may follow.
const PROVIDER: &str = "[providers.stage]\nkind = 'scripted'\nscript = 'script.toml'\n";

/// A configuration with the provider.
pub(crate) fn config_text(more_config: &str) -> String {
    format!("{PROVIDER}{more_config}")
}

/// The folder with the configuration and the script. The server reads it when it starts.
pub(crate) fn scripted_config(script: &str, more_config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = config_text(more_config);
    for (name, text) in [("script.toml", script), ("prowess.toml", &config)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Starts a server with a configuration, and with these variables.
pub(crate) fn start_scripted(config: &TempDir, variables: &[(&str, &str)]) -> TestServer {
    let path = config.path().join("prowess.toml");
    let own = [("PROWESS_CONFIG", path.to_str().unwrap())];
    TestServer::start(&[&own, variables].concat())
}
