//! A server without its console: nothing answers where it would be, and the API does.

use reqwest::Client;

use crate::server::{MASTER, TestServer};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_can_be_started_without_its_console() {
    let http = Client::builder().no_proxy().build().unwrap();
    let open = async |server: &TestServer, path: &str| {
        let request = http.get(format!("{}{path}", server.url()));
        let request = request.bearer_auth(MASTER).header("accept", "text/html");
        request.send().await.unwrap().status().as_u16()
    };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prowess.toml");
    std::fs::write(&config, "[server]\nconsole = false\n").unwrap();
    let variables = [("PROWESS_CONFIG", config.to_str().unwrap())];
    for server in [
        TestServer::start_with(&["--no-console"], &[]),
        TestServer::start(&variables),
    ] {
        for path in ["/", "/console", "/console/skills", "/console/sign-in"] {
            assert_eq!(open(&server, path).await, 404, "{path}");
        }
        assert_eq!(open(&server, "/v1/skills").await, 200);
    }
    let server = TestServer::start(&[]);
    assert_eq!(open(&server, "/console").await, 200);
}
