//! OpenAI's endpoints besides conversations for a mock upstream: responses name the model and
//! what was sent, so a test knows that both arrived.

use serde_json::{Value, json};

use crate::upstream::{MockResponse, ReceivedRequest};

/// What OpenAI responds to a request for images, sound, moderations, completions, or objects of
/// its account.
pub fn respond(request: &ReceivedRequest) -> MockResponse {
    assert_eq!(request.header("authorization"), Some("Bearer k"));
    let path = request.path.split('?').next().unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let model = || body["model"].as_str().unwrap();
    let answer = match path.strip_prefix("/v1/").unwrap() {
        "images/generations" => image(model()),
        "images/edits" => image(&form_value(request, "name=\"model\"")),
        "audio/transcriptions" | "audio/translations" => {
            let model = form_value(request, "name=\"model\"");
            let (name, length) = form_file(request);
            json!({"text": format!("{model} {name} {length} bytes")})
        }
        "audio/speech" => {
            let sound = [b"\0speech of ", model().as_bytes(), b"\xff"].concat();
            return MockResponse::bytes(200, "audio/mpeg", sound);
        }
        "moderations" => json!({
            "id": "modr-1", "model": model(),
            "results": [{"flagged": false, "categories": {}, "category_scores": {},
                "category_applied_input_types": {}}],
        }),
        "completions" if body["stream"] == true => {
            let chunk = |text: &str| format!("data: {}\n\n", completion(model(), text));
            let events = format!("{}{}data: [DONE]\n\n", chunk("th"), chunk("ree"));
            return MockResponse::sse(&events);
        }
        "completions" => completion(model(), "three"),
        "vector_stores" => json!({
            "object": "list", "data": [{"id": "vs_1", "object": "vector_store"}], "has_more": false,
        }),
        "fine_tuning/jobs/job_1" => json!({"id": "job_1", "object": "fine_tuning.job"}),
        other => {
            let error = json!({"error": {"message": format!("no endpoint {other}")}});
            return MockResponse::json(404, &error.to_string());
        }
    };
    MockResponse::json(200, &answer.to_string())
}

/// The image is the model's name.
fn image(model: &str) -> Value {
    assert_eq!(model, "m1");
    json!({
        "created": 1, "data": [{"b64_json": "bTE="}],
        "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12,
            "input_tokens_details": {"text_tokens": 5, "image_tokens": 0}},
    })
}

fn completion(model: &str, text: &str) -> Value {
    json!({
        "id": "cmpl-1", "object": "text_completion", "created": 1, "model": model,
        "choices": [{"text": text, "index": 0, "finish_reason": "stop", "logprobs": null}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
    })
}

/// The content of the part of a form whose headers contain this.
fn form_part(request: &ReceivedRequest, header: &str) -> Option<(String, Vec<u8>)> {
    let kind = request.header("content-type").unwrap();
    let boundary = kind.split("boundary=").nth(1).unwrap().trim_matches('"');
    // Each byte a character, so that sound can be searched like text.
    let text: String = request.body.iter().map(|byte| char::from(*byte)).collect();
    let delimiter = format!("--{boundary}");
    let part = text
        .split(&delimiter)
        .find(|part| part.split("\r\n\r\n").next().unwrap().contains(header))?;
    let (headers, content) = part.split_once("\r\n\r\n").unwrap();
    let content = content.strip_suffix("\r\n").unwrap();
    let content = content.chars().map(|c| u8::try_from(u32::from(c)).unwrap());
    Some((headers.to_owned(), content.collect()))
}

fn form_value(request: &ReceivedRequest, header: &str) -> String {
    String::from_utf8(form_part(request, header).unwrap().1).unwrap()
}

/// The name and the length of a form's file.
fn form_file(request: &ReceivedRequest) -> (String, usize) {
    let (headers, content) = form_part(request, "name=\"file\"").unwrap();
    let name = headers.split("filename=\"").nth(1).unwrap();
    (name.split('"').next().unwrap().to_owned(), content.len())
}
