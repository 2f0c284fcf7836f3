//! Model lists in both vendors' formats.

use prowess_server::ServerSettings;
use prowess_testkit::upstream::MockResponse;

use crate::gateway::Gateway;

const ANTHROPIC: [(&str, &str); 1] = [("anthropic-version", "2023-06-01")];

#[tokio::test]
async fn the_models_of_the_configuration_are_listed_in_both_shapes() {
    let gateway = Gateway::start().await;
    let anthropic = gateway.get("/v1/models", &ANTHROPIC).await;
    insta::assert_snapshot!(anthropic.render(), @r#"
    200 application/json
    {
      "first_id": "small",
      "last_id": "patient",
      "has_more": false,
      "data": [
        {
          "id": "small",
          "type": "model",
          "display_name": "small",
          "created_at": "1970-01-01T00:00:00Z",
          "lifecycle": "active",
          "max_input_tokens": null,
          "max_tokens": null
        },
        {
          "id": "patient",
          "type": "model",
          "display_name": "patient",
          "created_at": "1970-01-01T00:00:00Z",
          "lifecycle": "active",
          "max_input_tokens": null,
          "max_tokens": null
        }
      ]
    }
    "#);
    let openai = gateway.get("/v1/models", &[]).await;
    insta::assert_snapshot!(openai.render(), @r#"
    200 application/json
    {
      "object": "list",
      "first_id": "small",
      "last_id": "patient",
      "has_more": false,
      "data": [
        {
          "id": "small",
          "object": "model",
          "created": 0,
          "owned_by": "ant"
        },
        {
          "id": "patient",
          "object": "model",
          "created": 0,
          "owned_by": "oai"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn whatever_can_be_called_can_be_fetched() {
    let gateway = Gateway::start().await;
    for name in ["small", "wild-one", "stage/any/thing"] {
        for headers in [&ANTHROPIC[..], &[]] {
            let answer = gateway.get(&format!("/v1/models/{name}"), headers).await;
            assert_eq!(answer.json()["id"], name);
        }
    }
    let unknown = gateway.get("/v1/models/none", &[]).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn what_upstreams_list_is_shown_where_enabled_and_a_failing_one_left_out() {
    let gateway = Gateway::with(ServerSettings {
        upstream_models: true,
        ..ServerSettings::default()
    })
    .await;
    // Five providers are called at once; four of them fail.
    let list = r#"{"data":[{"id":"m1"},{"id":"m2"}]}"#;
    gateway
        .upstream
        .respond_always(MockResponse::json(500, "{}"))
        .respond(MockResponse::json(200, list));
    for _ in 0..2 {
        let shown = gateway.get("/v1/models", &[]).await.json();
        let models = shown["data"].as_array().unwrap().iter();
        let names: Vec<_> = models.map(|model| model["id"].as_str().unwrap()).collect();
        assert_eq!(names[..2], ["small", "patient"]);
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(names[2].ends_with("/m1") && names[3].ends_with("/m2"));
    }
    // The second list came from the cache.
    assert_eq!(gateway.upstream.requests().await.len(), 5);
}
