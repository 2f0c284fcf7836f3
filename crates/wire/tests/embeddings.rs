//! Embeddings: reading clients' requests, writing calls of every vendor, reading their
//! responses.

use prowess_wire::embeddings::{
    EmbeddingDialect, EmbeddingEncoding, EmbeddingInput, EmbeddingPurpose, EmbeddingRequest,
    EmbeddingResponse, MAX_EMBEDDING_INPUTS, read_embedding_request, read_embedding_response,
    write_embedding_calls, write_embedding_response,
};
use serde_json::{Value, json};

fn read(body: &Value) -> Result<EmbeddingRequest, String> {
    read_embedding_request(body.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn texts(list: &[&str]) -> EmbeddingRequest {
    let list = list.iter().map(|text| (*text).to_owned());
    EmbeddingRequest::new(list.collect(), EmbeddingPurpose::Unspecified)
}

#[test]
fn every_form_of_input_is_read() {
    let input = |input: Value| read(&json!({"model": "m", "input": input})).unwrap().input;
    let one = EmbeddingInput::Texts(vec!["a".to_owned()]);
    assert_eq!(input(json!("a")), one);
    assert_eq!(input(json!(["a"])), one);
    assert_eq!(
        input(json!([1, 2])),
        EmbeddingInput::Tokens(vec![vec![1, 2]])
    );
    let two = EmbeddingInput::Tokens(vec![vec![1], vec![2, 3]]);
    assert_eq!(input(json!([[1], [2, 3]])), two);
}

#[test]
fn a_wrong_field_is_named() {
    let long = vec!["a"; MAX_EMBEDDING_INPUTS + 1];
    for (body, message) in [
        (json!({}), "input: Field required"),
        (json!({"input": []}), "input: it must not be empty"),
        (json!({"input": ""}), "input: it must not be empty"),
        (
            json!({"input": ["a", ""]}),
            "input[1]: it must not be empty",
        ),
        (
            json!({"input": 5}),
            "input: expected a string, a list of strings, or lists of token numbers, found 5",
        ),
        (
            json!({"input": ["a", 5]}),
            "input[1]: expected a string, found 5",
        ),
        (
            json!({"input": [[1], [-1]]}),
            "input[1][0]: expected a token number, found -1",
        ),
        (
            json!({"input": long}),
            "input: expected at most 2048 inputs, found 2049",
        ),
        (
            json!({"input": "a", "dimensions": 0}),
            "dimensions: expected a positive number, found 0",
        ),
        (
            json!({"input": "a", "encoding_format": "hex"}),
            "encoding_format: expected `float` or `base64`, found \"hex\"",
        ),
    ] {
        assert_eq!(read(&body).unwrap_err(), message);
    }
}

#[test]
fn every_vendor_gets_its_own_format() {
    let mut request = texts(&["a", "b"]);
    request.dimensions = Some(256);
    request.purpose = EmbeddingPurpose::Query;
    request.user = Some("u1".to_owned());
    request.unknown = vec!["new_field".to_owned()];
    let sent = |dialect, model| {
        let encoded = write_embedding_calls(dialect, &request, model).unwrap();
        let dropped: Vec<_> = encoded
            .dropped
            .into_iter()
            .map(|field| field.field)
            .collect();
        let bodies: Vec<_> = encoded.calls.into_iter().map(|call| call.body).collect();
        (bodies, dropped)
    };
    let (bodies, dropped) = sent(EmbeddingDialect::OpenAi, "m");
    let expected = json!({"model": "m", "input": ["a", "b"], "dimensions": 256, "user": "u1"});
    assert_eq!((bodies, dropped.len()), (vec![expected], 0));
    let (bodies, dropped) = sent(EmbeddingDialect::Gemini, "m");
    let one = |text: &str| {
        json!({
            "model": "models/m", "content": {"parts": [{"text": text}]},
            "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 256,
        })
    };
    assert_eq!(bodies, [json!({"requests": [one("a"), one("b")]})]);
    assert_eq!(dropped, ["user", "new_field"]);
    let (bodies, _) = sent(EmbeddingDialect::Vertex, "text-embedding-005");
    let one = |text: &str| json!({"content": text, "task_type": "RETRIEVAL_QUERY"});
    let parameters = json!({"outputDimensionality": 256});
    let expected = json!({"instances": [one("a"), one("b")], "parameters": parameters});
    assert_eq!(bodies, [expected]);
    let (bodies, _) = sent(EmbeddingDialect::Vertex, "gemini-embedding-001");
    assert_eq!(bodies.len(), 2, "it takes one text at a time");
    let (bodies, _) = sent(EmbeddingDialect::Titan, "amazon.titan-embed-text-v2:0");
    let one = |text: &str| json!({"inputText": text, "dimensions": 256});
    assert_eq!(bodies, [one("a"), one("b")]);
    let (bodies, _) = sent(EmbeddingDialect::Cohere, "cohere.embed-v4:0");
    let expected =
        json!({"texts": ["a", "b"], "input_type": "search_query", "output_dimension": 256});
    assert_eq!(bodies, [expected]);
}

#[test]
fn what_would_change_the_vectors_is_refused() {
    let refused = |dialect, request: &EmbeddingRequest, model: &str| {
        let error = write_embedding_calls(dialect, request, model).unwrap_err();
        error.field().unwrap().to_owned()
    };
    let mut request = texts(&["a"]);
    request.dimensions = Some(64);
    for (dialect, model) in [
        (EmbeddingDialect::Titan, "amazon.titan-embed-text-v1"),
        (EmbeddingDialect::Cohere, "cohere.embed-english-v3"),
    ] {
        assert_eq!(refused(dialect, &request, model), "dimensions");
    }
    request.input = EmbeddingInput::Tokens(vec![vec![1]]);
    for dialect in [
        EmbeddingDialect::Gemini,
        EmbeddingDialect::Vertex,
        EmbeddingDialect::Titan,
        EmbeddingDialect::Cohere,
    ] {
        assert_eq!(refused(dialect, &request, "m"), "input");
    }
}

#[test]
fn many_texts_become_several_calls_in_order() {
    let list: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    let request = EmbeddingRequest::new(list.clone(), EmbeddingPurpose::Unspecified);
    let encoded = write_embedding_calls(EmbeddingDialect::Cohere, &request, "m").unwrap();
    let inputs: Vec<_> = encoded.calls.iter().map(|call| call.inputs).collect();
    assert_eq!(inputs, [96, 96, 58]);
    let sent = encoded.calls.iter();
    let sent = sent.flat_map(|call| call.body["texts"].as_array().unwrap().clone());
    assert_eq!(sent.collect::<Vec<_>>(), list);
}

#[test]
fn every_vendors_response_is_read() {
    let vectors = vec![vec![0.5, -0.25], vec![1.0, 0.0]];
    let base64 = "AAAAPwAAgL4=";
    for (dialect, body, tokens) in [
        (
            EmbeddingDialect::OpenAi,
            json!({"data": [{"index": 1, "embedding": [1.0, 0]}, {"index": 0, "embedding": base64}],
                   "usage": {"prompt_tokens": 7}}),
            Some(7),
        ),
        (
            EmbeddingDialect::Gemini,
            json!({"embeddings": [{"values": [0.5, -0.25]}, {"values": [1, 0]}]}),
            None,
        ),
        (
            EmbeddingDialect::Vertex,
            json!({"predictions": [
                {"embeddings": {"values": [0.5, -0.25], "statistics": {"token_count": 3.0}}},
                {"embeddings": {"values": [1, 0], "statistics": {"token_count": 4}}}]}),
            Some(7),
        ),
        (
            EmbeddingDialect::Cohere,
            json!({"embeddings": [[0.5, -0.25], [1, 0]]}),
            None,
        ),
        (
            EmbeddingDialect::Cohere,
            json!({"embeddings": {"float": [[0.5, -0.25], [1, 0]]}}),
            None,
        ),
    ] {
        let body = body.to_string();
        let read = read_embedding_response(dialect, body.as_bytes(), 2).unwrap();
        assert_eq!(read.vectors, vectors, "{dialect:?}");
        assert_eq!(read.input_tokens, tokens, "{dialect:?}");
        let error = read_embedding_response(dialect, body.as_bytes(), 3).unwrap_err();
        assert!(
            error.to_string().contains("2 vectors for 3 inputs"),
            "{error}"
        );
        assert!(read_embedding_response(dialect, b"{}", 2).is_err());
    }
    let titan = br#"{"embedding": [1, 0], "inputTextTokenCount": 2}"#;
    let read = read_embedding_response(EmbeddingDialect::Titan, titan, 1).unwrap();
    assert_eq!((read.vectors.len(), read.input_tokens), (1, Some(2)));
}

#[test]
fn clients_get_numbers_or_bytes() {
    let response = EmbeddingResponse {
        vectors: vec![vec![0.1, -2.0]],
        input_tokens: Some(3),
    };
    let written = |encoding| {
        let body = write_embedding_response(&response, encoding, "m");
        String::from_utf8(body).unwrap()
    };
    // As short as the number itself, not as its nearest 64 bits.
    assert_eq!(
        written(EmbeddingEncoding::Float),
        r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2.0]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}"#
    );
    let body: Value = serde_json::from_str(&written(EmbeddingEncoding::Base64)).unwrap();
    assert_eq!(body["data"][0]["embedding"], "zczMPQAAAMA=");
}
