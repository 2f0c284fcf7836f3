//! Skills that are found for each other's queries, over HTTP.

use axum::http::StatusCode;
use prowess_testkit::SkillFixture;
use serde_json::{Value, json};

use crate::client::{ALL, Form, Server, TestDialect};

/// Uploads a skill and returns its id.
async fn upload(server: &Server, name: &str, description: &str) -> String {
    let skill = SkillFixture::new(name)
        .field("description", description)
        .body("# Steps\n\nDo it.\n");
    let request = server.post(TestDialect::Ga, "/v1/skills");
    let made = request.form(&Form::skill(&skill)).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

async fn overlaps(server: &Server, dialect: TestDialect, query: &str) -> Value {
    let path = format!("/v1/skills/overlap{query}");
    server.get(dialect, &path).send().await.ok()
}

fn pairs<'a>(answer: &'a Value) -> Vec<(&'a str, &'a str)> {
    let name = |pair: &'a Value, field: &str| pair[field].as_str().unwrap();
    let data = answer["data"].as_array().unwrap().iter();
    data.map(|pair| (name(pair, "name"), name(pair, "rival_name")))
        .collect()
}

#[tokio::test]
async fn rivals_are_listed_with_ranks_and_words_the_worst_first() {
    let server = Server::new().await;
    let vague = upload(
        &server,
        "office-helper",
        "Helps. Use when a tax form must be filled in before the deadline.",
    )
    .await;
    upload(
        &server,
        "tax-forms",
        "Fills in every tax form. Use when a tax form must be filled in before the deadline of \
         the tax office, or a tax form was refused.",
    )
    .await;
    upload(
        &server,
        "walrus",
        "Counts. Use when animals on ice floes are counted.",
    )
    .await;
    let all = overlaps(&server, TestDialect::Ga, "").await;
    for dialect in ALL {
        assert_eq!(overlaps(&server, dialect, "").await, all, "{dialect:?}");
    }
    assert_eq!(all["examined"], 3);
    assert_eq!(
        (&all["has_more"], &all["next_page"]),
        (&json!(false), &Value::Null)
    );
    let first = &all["data"][0];
    assert_eq!(pairs(&all)[0], ("office-helper", "tax-forms"), "{all}");
    assert_eq!(
        (&first["rank"], &first["rival_rank"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(first["skill_id"], json!(vague));
    assert!(first["score_ratio"].as_f64().unwrap() > 1.0, "{first}");
    let tax = json!({"word": "tax", "fields": ["name", "description"]});
    let shared = first["shared"].as_array().unwrap();
    assert!(shared.contains(&tax), "{first}");
    // A skill alone in its field has no rival, and is none.
    let names = pairs(&all);
    assert!(
        !names
            .iter()
            .any(|(own, rival)| [*own, *rival].contains(&"walrus"))
    );

    // One skill, and a page of skills.
    let one = overlaps(&server, TestDialect::Ga, &format!("?skill_id={vague}")).await;
    assert_eq!(one["examined"], 1);
    assert_eq!(one["data"], json!([first]));
    let mut seen = Vec::new();
    let mut page = String::new();
    for examined in 1..=3 {
        let part = overlaps(&server, TestDialect::Ga, &format!("?limit=1{page}")).await;
        assert_eq!(part["examined"], 1);
        assert_eq!(part["has_more"], examined < 3);
        seen.extend(part["data"].as_array().unwrap().clone());
        page = format!("&page={}", part["next_page"].as_str().unwrap_or_default());
    }
    assert_eq!(seen.len(), all["data"].as_array().unwrap().len());
}

#[tokio::test]
async fn what_cannot_be_examined_is_refused() {
    let server = Server::new().await;
    for (query, status, code) in [
        ("limit=101", StatusCode::BAD_REQUEST, "query-invalid"),
        ("limit=0", StatusCode::BAD_REQUEST, "query-invalid"),
        (
            "skill_id=skill_none",
            StatusCode::NOT_FOUND,
            "skill-not-found",
        ),
    ] {
        for dialect in ALL {
            let path = format!("/v1/skills/overlap?{query}");
            let answer = server.get(dialect, &path).send().await;
            assert_eq!(answer.status, status, "{query}");
            assert_eq!(answer.code(), code, "{query}");
        }
    }
    let none = overlaps(&server, TestDialect::Ga, "").await;
    assert_eq!((&none["data"], &none["examined"]), (&json!([]), &json!(0)));
}
