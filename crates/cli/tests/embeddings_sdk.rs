//! Embeddings, images, sound and moderations with OpenAI's own SDKs, unmodified; and skills that the
//! real server finds by vectors.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod scripted;
mod server;

use std::fs;
use std::process::Command;

use installed::{node, python, succeeded};
use prowess_testkit::SkillFixture;
use prowess_testkit::embedding_vendors;
use prowess_testkit::endpoint_vendor;
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use scripted::{scripted_config, start_scripted};
use server::{MASTER, TestServer, prowess};

const MODELS: &str = "oai/m1,az/m1,gem/m1,vertex/text-embedding-005,\
                      aws/amazon.titan-embed-text-v2:0,aws/cohere.embed-v4:0";

/// One provider of each kind at the same address.
fn config(url: &str) -> String {
    let provider = |name: &str, kind: &str, base: &str, more: &str| {
        format!(
            "[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"{base}\"\napi_key = \"k\"\n{more}\n"
        )
    };
    [
        provider("oai", "openai", &format!("{url}/v1"), ""),
        provider("az", "azure", url, "api_version = \"2024-10-21\""),
        provider("gem", "gemini", url, ""),
        provider("vertex", "vertex", url, "project = \"p\""),
        provider("aws", "bedrock", url, "region = \"eu-central-1\""),
    ]
    .concat()
}

/// Runs a program with each of OpenAI's clients, against providers that answer like this.
fn run_openai_clients(respond: fn(&ReceivedRequest) -> MockResponse, program: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let upstream = runtime.block_on(MockUpstream::start());
    upstream.respond_with(respond);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prowess.toml");
    fs::write(&path, config(upstream.url())).unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", path.to_str().unwrap())]);
    let (in_python, in_node) = (format!("{program}.py"), format!("{program}.mjs"));
    let clients: [Command; 3] = [
        python("openai-2.54", &in_python),
        python("openai-3.49", &in_python),
        node(&in_node, &in_node),
    ];
    for mut client in clients {
        client
            .env("PROWESS_URL", server.url())
            .env("PROWESS_API_KEY", MASTER)
            .env("PROWESS_MODELS", MODELS);
        succeeded(&mut client);
    }
}

#[test]
fn openais_clients_get_embeddings_of_every_kind_of_provider() {
    run_openai_clients(embedding_vendors::respond, "embed_openai");
}

#[test]
fn the_server_finds_skills_by_vectors_and_shows_it() {
    let script = "[embeddings]\nsynonyms = [[\"car\", \"automobile\"]]\n";
    let settings = "[skills]\nembedding_model = \"stage/words\"\nembedding_deadline_ms = 60000\n";
    let config = scripted_config(script, settings);
    let server = start_scripted(&config, &[]);
    let folder = server.folder().join("skills");
    fs::create_dir(&folder).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = prowess(server.folder());
        command.args(arguments).env("PROWESS_URL", server.url());
        succeeded(command.env("PROWESS_API_KEY", MASTER))
    };
    for (name, description) in [
        ("car-wash", "Washes a car."),
        ("slides", "Makes presentations from notes."),
        ("tax-return", "Fills in the forms of a tax return."),
        ("whale-songs", "Writes down what whales sing."),
        ("zebra-census", "Counts striped animals in photos."),
    ] {
        let skill = SkillFixture::new(name).field("description", description);
        let path = skill.write_to(&folder);
        run(&["skill", "push", path.to_str().unwrap()]);
    }
    // Vectors are written in the background.
    let route = ["skill", "route", "my automobile is dirty", "--server"];
    let shown = loop {
        let shown = run(&route);
        if shown.contains("vectors (") {
            break shown;
        }
        std::thread::yield_now();
    };
    let best = shown.lines().nth(1).unwrap();
    assert!(
        best.contains("car-wash") && best.contains("vectors (0."),
        "{shown}"
    );
    let json = run(&["skill", "route", "my automobile", "--server", "--json"]);
    assert!(json.contains("\"vectors\": true"), "{json}");
}

#[test]
fn openais_clients_need_no_other_base_url_for_images_sound_and_moderations() {
    run_openai_clients(endpoint_vendor::respond, "endpoints_openai");
}
