//! Vendors' embedding APIs for a mock upstream: the vector of a text follows from the text, so
//! a test knows what every vendor must return.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::upstream::{MockResponse, ReceivedRequest};

/// The vector of a text: exact in any encoding.
pub fn vector(text: &str) -> Vec<f32> {
    let words = text.split_whitespace().count();
    vec![text.len() as f32 / 1024.0, words as f32 / 64.0, -0.5]
}

/// What the vendor whose API a request uses responds.
pub fn respond(request: &ReceivedRequest) -> MockResponse {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let path = request.path.split('?').next().unwrap();
    let vectors = |field: &str| {
        let texts = body[field].as_array().unwrap().iter();
        texts
            .map(|text| vector(text.as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let answer = match path.rsplit(['/', ':']).next().unwrap() {
        "embeddings" => openai(&body),
        "batchEmbedContents" => {
            let requests = body["requests"].as_array().unwrap().iter();
            let texts = requests.map(|one| one["content"]["parts"][0]["text"].as_str().unwrap());
            let vectors = texts.map(|text| json!({ "values": vector(text) }));
            json!({ "embeddings": vectors.collect::<Vec<_>>() })
        }
        "predict" => {
            let texts = body["instances"].as_array().unwrap().iter();
            let predictions = texts.map(|one| {
                let values = vector(one["content"].as_str().unwrap());
                let statistics = json!({ "token_count": 5.0, "truncated": false });
                json!({ "embeddings": { "values": values, "statistics": statistics } })
            });
            json!({ "predictions": predictions.collect::<Vec<_>>() })
        }
        "invoke" if body["inputText"].is_string() => {
            let text = body["inputText"].as_str().unwrap();
            json!({ "embedding": vector(text), "inputTextTokenCount": 5 })
        }
        "invoke" => json!({ "embeddings": vectors("texts"), "response_type": "embeddings_floats" }),
        _ => return MockResponse::json(404, r#"{"error":{"message":"no such path"}}"#),
    };
    let is_bedrock = path.ends_with("/invoke");
    let answer = MockResponse::json(200, &answer.to_string());
    match is_bedrock {
        true => answer.header("x-amzn-bedrock-input-token-count", "7"),
        false => answer,
    }
}

fn openai(body: &Value) -> Value {
    let texts: Vec<&str> = match &body["input"] {
        Value::String(text) => vec![text],
        list => list
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap_or("token numbers"))
            .collect(),
    };
    let in_base64 = body["encoding_format"] == "base64";
    let encode = |vector: Vec<f32>| {
        let bytes = vector.iter().flat_map(|number| number.to_le_bytes());
        match in_base64 {
            true => json!(STANDARD.encode(bytes.collect::<Vec<u8>>())),
            false => json!(vector),
        }
    };
    let data = texts.iter().enumerate().map(|(index, text)| {
        json!({ "object": "embedding", "index": index, "embedding": encode(vector(text)) })
    });
    json!({
        "object": "list", "data": data.collect::<Vec<_>>(), "model": body["model"],
        "usage": { "prompt_tokens": 5, "total_tokens": 5 },
    })
}
