//! Lists in pages, filters and search.

use axum::http::StatusCode;
use prowess_testkit::SkillFixture;
use serde_json::{Value, json};

use crate::client::{ALL, Form, Server, TestDialect};

fn ids(list: &Value) -> Vec<String> {
    let items = list["data"].as_array().unwrap().iter();
    items
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn with_skills(count: usize) -> (Server, Vec<String>) {
    let server = Server::new().await;
    let mut made = Vec::new();
    for number in 0..count {
        made.push(server.skill(&format!("skill-{number}")).await);
    }
    (server, made)
}

#[tokio::test]
async fn anthropics_pages_hold_while_skills_come_and_go() {
    let (server, made) = with_skills(5).await;
    for dialect in [TestDialect::Beta, TestDialect::Ga, TestDialect::G3] {
        let first = server
            .get(dialect, "/v1/skills?limit=2&source=custom")
            .send()
            .await
            .ok();
        assert_eq!(ids(&first), [made[4].clone(), made[3].clone()]);
        assert_eq!(
            first.get("has_more").is_some(),
            dialect == TestDialect::Beta
        );
        let page = first["next_page"].as_str().unwrap();
        // The last seen item is deleted and a new one added: the next page is unchanged.
        let new = server.skill("newcomer").await;
        let next = format!("/v1/skills?limit=2&source=custom&page={page}");
        let next = server.get(dialect, &next).send().await.ok();
        assert_eq!(ids(&next), [made[2].clone(), made[1].clone()]);
        server
            .delete(TestDialect::Ga, &format!("/v1/skills/{new}"))
            .send()
            .await
            .ok();
    }
}

#[tokio::test]
async fn the_beta_lists_versions_oldest_first_and_the_others_newest_first() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let path = format!("/v1/skills/{id}/versions");
    for body in ["two", "three"] {
        let form = Form::skill(&SkillFixture::new("pdf-forms").body(body));
        server.post(TestDialect::Ga, &path).form(&form).await.ok();
    }
    let beta = ids(&server.get(TestDialect::Beta, &path).send().await.ok());
    let mut reversed = beta.clone();
    reversed.reverse();
    assert_eq!(
        ids(&server.get(TestDialect::Ga, &path).send().await.ok()),
        reversed
    );
    assert_eq!(
        ids(&server.get(TestDialect::OpenAi, &path).send().await.ok()),
        reversed
    );
    let ascending = server
        .get(TestDialect::OpenAi, &format!("{path}?order=asc"))
        .send()
        .await;
    assert_eq!(ids(&ascending.ok()), beta);
}

#[tokio::test]
async fn openais_pages_go_on_after_an_id_in_both_orders() {
    let (server, made) = with_skills(5).await;
    let path = format!("/v1/skills?limit=2&after={}", made[3]);
    let page = server.get(TestDialect::OpenAi, &path).send().await.ok();
    assert_eq!(ids(&page), [made[2].clone(), made[1].clone()]);
    assert_eq!(page["has_more"], true);
    assert_eq!(
        (&page["first_id"], &page["last_id"]),
        (&json!(made[2]), &json!(made[1]))
    );
    let path = format!("/v1/skills?limit=2&order=asc&after={}", made[3]);
    let page = server.get(TestDialect::OpenAi, &path).send().await.ok();
    assert_eq!(ids(&page), [made[4].clone()]);
    assert_eq!(page["has_more"], false);
}

#[tokio::test]
async fn pages_by_count_go_on_where_the_last_ended() {
    let (server, made) = with_skills(5).await;
    for dialect in [TestDialect::Ga, TestDialect::Beta, TestDialect::OpenAi] {
        let path = "/v1/skills?limit=2&source=custom&offset=";
        let page = |offset: usize| server.get(dialect, &format!("{path}{offset}")).send();
        let (first, second) = (page(0).await.ok(), page(2).await.ok());
        assert_eq!(ids(&first), [made[4].clone(), made[3].clone()]);
        assert_eq!(ids(&second), [made[2].clone(), made[1].clone()]);
        let last = page(4).await.ok();
        assert_eq!(ids(&last), [made[0].clone()]);
        if let TestDialect::OpenAi = dialect {
            assert_eq!(
                (&second["has_more"], &last["has_more"]),
                (&json!(true), &json!(false))
            );
        }
        assert_eq!(ids(&page(9).await.ok()), Vec::<String>::new());
    }
}

#[tokio::test]
async fn skills_are_found_by_name_and_by_words_best_first() {
    let server = Server::new().await;
    for (name, description, body) in [
        ("tax-return", "Fills in forms.", "Nothing else."),
        (
            "pdf-forms",
            "Handles documents.",
            "It knows tax tables too.",
        ),
        ("birds", "Names birds.", "By their songs."),
    ] {
        let skill = SkillFixture::new(name)
            .field("description", description)
            .body(body);
        server
            .post(TestDialect::Ga, "/v1/skills")
            .form(&Form::skill(&skill))
            .await
            .ok();
    }
    for dialect in [TestDialect::Ga, TestDialect::OpenAi] {
        let found = server
            .get(dialect, "/v1/skills?query=tax")
            .send()
            .await
            .ok();
        let found = found["data"].as_array().unwrap().clone();
        assert_eq!(found.len(), 2);
        assert!(found[0]["search_score"].as_f64() > found[1]["search_score"].as_f64());
        let nothing = server
            .get(dialect, "/v1/skills?query=quantum")
            .send()
            .await
            .ok();
        assert_eq!(nothing["data"], json!([]));
    }
    let page = server
        .get(TestDialect::OpenAi, "/v1/skills?query=tax&limit=1")
        .send()
        .await
        .ok();
    assert_eq!(
        (&page["data"][0]["name"], &page["has_more"]),
        (&json!("tax-return"), &json!(true))
    );
    let next = format!(
        "/v1/skills?query=tax&limit=1&after={}",
        page["last_id"].as_str().unwrap()
    );
    let next = server.get(TestDialect::OpenAi, &next).send().await.ok();
    assert_eq!(
        (&next["data"][0]["name"], &next["has_more"]),
        (&json!("pdf-forms"), &json!(false))
    );
    let named = server
        .get(TestDialect::OpenAi, "/v1/skills?name=birds")
        .send()
        .await
        .ok();
    assert_eq!(named["data"].as_array().unwrap().len(), 1);
    let foreign = server
        .get(TestDialect::Ga, "/v1/skills?source=anthropic")
        .send()
        .await
        .ok();
    assert_eq!(foreign["data"], json!([]));
}

#[tokio::test]
async fn an_invalid_query_is_refused_and_not_corrected() {
    let server = Server::new().await;
    for (dialect, query) in [
        (TestDialect::Ga, "limit=0"),
        (TestDialect::Ga, "limit=1001"),
        (TestDialect::Ga, "limit=many"),
        (TestDialect::Ga, "page=garbage"),
        (TestDialect::Ga, "source=elsewhere"),
        (TestDialect::OpenAi, "order=sideways"),
        (TestDialect::OpenAi, "limit=-1"),
        (TestDialect::Ga, "offset=-1"),
        (TestDialect::OpenAi, "offset=100001"),
        (TestDialect::OpenAi, "offset=1&after=skill_1"),
    ] {
        let answer = server
            .get(dialect, &format!("/v1/skills?{query}"))
            .send()
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
    }
    let harmless = server
        .get(TestDialect::Ga, "/v1/skills?beta=true&limit=&page=")
        .send()
        .await;
    assert_eq!(harmless.status, StatusCode::OK);
    for path in [
        "messages/batches?limit=",
        "messages/batches?after_id=a&limit=",
        "skills/search?query=tax&limit=",
    ] {
        let answer = server.get(TestDialect::Ga, &format!("/v1/{path}"));
        let answer = answer.send().await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        let message = answer.json().to_string();
        assert!(
            message.contains("is not a number from 1 to 1000"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn tasks_are_ranked_with_reasons_and_what_a_catalogue_holds() {
    let server = Server::new().await;
    for at in 0..120 {
        let description = format!(
            "Handles documents of kind {at}. {}",
            "More words. ".repeat(30)
        );
        let skill =
            SkillFixture::new(&format!("documents-{at}")).field("description", &description);
        let form = Form::skill(&skill);
        server
            .post(TestDialect::Ga, "/v1/skills")
            .form(&form)
            .await
            .ok();
    }
    let skill = SkillFixture::new("tax-return")
        .field("description", "Fills in tax forms.")
        .body("# Walrus\n\nCounts.\n");
    let form = Form::skill(&skill);
    server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&form)
        .await
        .ok();
    let path = "/v1/skills/search?limit=200&query=Please+handle+my+tax+documents+about+a+walrus";
    let mut answers = Vec::new();
    for dialect in ALL {
        let answer = server.get(dialect, path).send().await.ok();
        let data = answer["data"].as_array().unwrap();
        assert_eq!(data.len(), 121, "{dialect:?}");
        let best = &data[0];
        assert_eq!(
            (&best["rank"], &best["name"]),
            (&json!(1), &json!("tax-return"))
        );
        let matched = best["matched"].as_array().unwrap();
        let tax = json!({ "word": "tax", "fields": ["name", "description"] });
        let walrus = json!({ "word": "walrus", "fields": ["headings"] });
        assert!(
            matched.contains(&tax) && matched.contains(&walrus),
            "{best}"
        );
        // Lines are shortened; as many as fit are in the catalogue.
        let held = data.iter().filter(|skill| skill["in_catalogue"] == true);
        let bytes: u64 = held
            .clone()
            .map(|skill| skill["catalogue_bytes"].as_u64().unwrap())
            .sum();
        let catalogue = json!({ "skills": held.count(), "bytes": bytes, "limit_bytes": 16_000 });
        assert_eq!(answer["catalogue"], catalogue);
        assert!((15_000..=16_000).contains(&bytes), "{catalogue}");
        assert_eq!(data[120]["in_catalogue"], false);
        answers.push(answer);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    for dialect in ALL {
        let long = "word+".repeat(4_000);
        for query in ["", "?query=", "?query=+", &format!("?query={long}")] {
            for path in ["/v1/skills/search", "/v1/skills"] {
                if query.is_empty() && path == "/v1/skills" {
                    continue;
                }
                let answer = server.get(dialect, &format!("{path}{query}")).send().await;
                assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{dialect:?} {path}");
                assert_eq!(answer.code(), "value-invalid");
            }
        }
    }
}

#[tokio::test]
async fn a_skill_that_models_may_not_load_is_found_but_in_no_catalogue() {
    let server = Server::new().await;
    for (name, is_disabled) in [("tax-forms", "true"), ("tax-letters", "false")] {
        let skill = SkillFixture::new(name)
            .field("description", "About the tax.")
            .field("disable-model-invocation", is_disabled);
        let request = server.post(TestDialect::Ga, "/v1/skills");
        request.form(&Form::skill(&skill)).await.ok();
    }
    let request = server.get(TestDialect::Ga, "/v1/skills/search?query=tax");
    let answer = request.send().await.ok();
    let data = answer["data"].as_array().unwrap().iter();
    let mut found: Vec<_> = data
        .map(|skill| (skill["name"].as_str().unwrap(), &skill["in_catalogue"]))
        .collect();
    found.sort_by_key(|(name, _)| *name);
    let expected = [("tax-forms", &json!(false)), ("tax-letters", &json!(true))];
    assert_eq!(found, expected);
    assert_eq!(answer["catalogue"]["skills"], 1);
}
