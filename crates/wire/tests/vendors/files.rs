//! Files of users: documents, recordings and films.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{chat, dropped, refused, sent, sent_to};

const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

fn file(media_type: &str, bytes: &str, name: &str) -> Value {
    let data = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
    json!({"type": "file", "file": {"filename": name, "file_data": data}})
}

fn user(parts: &[Value]) -> Value {
    chat(json!([{"role": "user", "content": parts}]))
}

#[test]
fn text_files_are_text_for_anthropic() {
    for (media_type, name) in [
        ("text/csv", "a.csv"),
        ("text/plain", "a.txt"),
        ("text/plain;charset=utf-8", "a.txt"),
        ("application/json", "a.json"),
        ("application/octet-stream", "a.md"),
    ] {
        let body = user(&[file(media_type, "a,é\n1,2\n", name)]);
        let outgoing = sent(ClientDialect::Chat, &body, Dialect::Messages);
        let source = json!({"type": "text", "media_type": "text/plain", "data": "a,é\n1,2\n"});
        let document = json!({"type": "document", "source": source, "title": name});
        assert_eq!(
            outgoing.body["messages"][0]["content"],
            json!([document]),
            "{media_type}"
        );
        assert_eq!(outgoing.dropped, []);
    }
    let part = json!({"type": "input_file", "filename": "a.csv",
        "file_data": format!("data:text/csv;base64,{}", STANDARD.encode("1"))});
    let body = json!({"model": "m", "input": [{"role": "user", "content": [part]}]});
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Messages);
    assert_eq!(
        outgoing.body["messages"][0]["content"][0]["source"]["data"],
        "1"
    );

    let part = json!({"inlineData": {"mimeType": "text/csv", "data": STANDARD.encode("1")}});
    let body = json!({"contents": [{"role": "user", "parts": [part]}]});
    let outgoing = sent(ClientDialect::Gemini, &body, Dialect::Messages);
    let source = json!({"type": "text", "media_type": "text/plain", "data": "1"});
    assert_eq!(outgoing.body["messages"][0]["content"][0]["source"], source);
}

#[test]
fn a_text_file_in_a_tools_result_is_text_for_anthropic_too() {
    let data = format!("data:text/csv;base64,{}", STANDARD.encode("1"));
    let output = json!([{"type": "input_file", "filename": "a.csv", "file_data": data}]);
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "Go."},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": output},
    ]});
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Messages);
    let source = &outgoing.body["messages"][2]["content"][0]["content"][0]["source"];
    assert_eq!(source["type"], "text");
}

#[test]
fn pdfs_stay_bytes_and_pictures_become_pictures_for_anthropic() {
    let body = user(&[
        file("application/pdf", "%PDF", "a.pdf"),
        file("image/png", "x", "a.png"),
    ]);
    let content =
        sent(ClientDialect::Chat, &body, Dialect::Messages).body["messages"][0]["content"].clone();
    assert_eq!(content[0]["source"]["type"], "base64");
    assert_eq!(content[0]["source"]["media_type"], "application/pdf");
    assert_eq!(
        (&content[1]["type"], &content[1]["source"]["media_type"]),
        (&json!("image"), &json!("image/png"))
    );
}

#[test]
fn files_that_anthropic_takes_in_no_form_are_refused_by_field_and_type() {
    for (media_type, bytes) in [(DOCX, "PK"), ("application/zip", "PK"), ("", "PK")] {
        let body = user(&[
            json!({"type": "text", "text": "Read."}),
            file(media_type, bytes, "a.bin"),
        ]);
        let error = refused(ClientDialect::Chat, &body, Dialect::Messages);
        assert_eq!(
            error.field(),
            Some("messages[0].content[1].file.file_data"),
            "{error}"
        );
        assert!(error.to_string().contains(media_type), "{error}");
    }
    let not_text = json!({"type": "file", "file": {"filename": "a.csv",
        "file_data": format!("data:text/csv;base64,{}", STANDARD.encode([0xff, 0xfe]))}});
    let error = refused(ClientDialect::Chat, &user(&[not_text]), Dialect::Messages);
    assert!(error.to_string().contains("text/csv"), "{error}");
    assert!(error.to_string().contains("UTF-8"), "{error}");
    // A client of Anthropic's own dialect gets Anthropic's error.
    let source = json!({"type": "base64", "media_type": DOCX, "data": "UEs="});
    let body = json!({"model": "m", "max_tokens": 5, "messages": [
        {"role": "user", "content": [{"type": "document", "source": source}]}]});
    let own = sent(ClientDialect::Messages, &body, Dialect::Messages);
    assert_eq!(own.body["messages"][0]["content"][0]["source"], source);
}

#[test]
fn an_address_in_file_data_is_an_address_everywhere() {
    let url = "https://example.com/a.pdf";
    let part = json!({"type": "file", "file": {"filename": "a.pdf", "file_data": url}});
    let body = user(std::slice::from_ref(&part));
    let to = |upstream| sent(ClientDialect::Chat, &body, upstream).body;
    let anthropic = &to(Dialect::Messages)["messages"][0]["content"][0]["source"];
    assert_eq!(anthropic, &json!({"type": "url", "url": url}));
    let gemini = &to(Dialect::Gemini)["contents"][0]["parts"][0];
    let file = json!({"fileUri": url, "mimeType": "application/pdf"});
    assert_eq!(gemini, &json!({"fileData": file}));
    let responses = &to(Dialect::Responses)["input"][0]["content"][0];
    assert_eq!(responses, &json!({"type": "input_file", "file_url": url}));
    assert_eq!(to(Dialect::Chat)["messages"][0]["content"][0], part);
    let error = refused(ClientDialect::Chat, &body, Dialect::Converse);
    assert_eq!(error.field(), Some("messages[0].content[0].file.file_data"));
    let part = json!({"type": "input_file", "file_data": url});
    let body = json!({"model": "m", "input": [{"role": "user", "content": [part]}]});
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Messages);
    assert_eq!(
        outgoing.body["messages"][0]["content"][0]["source"]["url"],
        url
    );
}

#[test]
fn the_files_name_gives_the_type_of_bare_base64() {
    let part =
        |name: Value| json!({"type": "file", "file": {"filename": name, "file_data": "MQ=="}});
    let source = |name: Value| {
        let outgoing = sent(ClientDialect::Chat, &user(&[part(name)]), Dialect::Messages);
        outgoing.body["messages"][0]["content"][0]["source"].clone()
    };
    assert_eq!(source(json!("a.txt"))["data"], "1");
    assert_eq!(source(json!("a"))["media_type"], "application/pdf");
    assert_eq!(source(Value::Null)["media_type"], "application/pdf");
}

fn documents(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| documents(item, names)),
        Value::Object(map) => {
            if let Some(name) = map
                .get("document")
                .and_then(|document| document["name"].as_str())
            {
                names.push(name.to_owned());
            }
            map.values().for_each(|inner| documents(inner, names));
        }
        _ => {}
    }
}

#[test]
fn no_two_documents_of_a_converse_request_have_the_same_name() {
    let pdf = |name: &str| file("application/pdf", "%PDF", name);
    let text = json!({"type": "text", "text": "Compare."});
    let nameless =
        json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ=="}});
    let body = chat(json!([
        {"role": "user", "content": [text, pdf("q1_report.pdf"), pdf("Q1 report.pdf"), nameless]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": [text, pdf("q1_report.pdf"), nameless, pdf("Jahresübersicht.pdf")]},
    ]));
    let body = sent(ClientDialect::Chat, &body, Dialect::Converse).body;
    let mut names = Vec::new();
    documents(&body, &mut names);
    assert_eq!(names.len(), 6);
    let distinct: HashSet<_> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(distinct.len(), 6, "{names:?}");
    let allowed = |c: char| c.is_ascii_alphanumeric() || " -()[]".contains(c);
    assert!(
        names
            .iter()
            .all(|name| name.chars().all(allowed) && !name.contains("  ")),
        "{names:?}"
    );
    let in_result = json!({"model": "m", "max_tokens": 5, "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "y"}},
        ]},
    ]});
    let body = sent(ClientDialect::Messages, &in_result, Dialect::Converse).body;
    let mut names = Vec::new();
    documents(&body, &mut names);
    assert_eq!(names, ["document", "document 2"]);
}

#[test]
fn a_converse_document_has_a_text_beside_it() {
    let body = user(&[file("application/pdf", "%PDF", "a.pdf")]);
    let content =
        sent(ClientDialect::Chat, &body, Dialect::Converse).body["messages"][0]["content"].clone();
    assert_eq!(content[1], json!({"text": "Attached: a pdf"}));
    let body = user(&[
        file("text/x-log", "1", "a.log"),
        json!({"type": "text", "text": "Read."}),
    ]);
    let content =
        sent(ClientDialect::Chat, &body, Dialect::Converse).body["messages"][0]["content"].clone();
    assert_eq!(content[0]["document"]["format"], "txt");
    assert_eq!(content.as_array().unwrap().len(), 2);
}

#[test]
fn recordings_and_films_reach_gemini() {
    let audio =
        json!({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}});
    let film = json!({"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}});
    let inline = json!({"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}});
    let tube = json!({"type": "video_url", "video_url": {"url": "https://tube.example/watch?v=1"}});
    let body = user(&[audio.clone(), film, inline, tube]);
    let outgoing = sent(ClientDialect::Chat, &body, Dialect::Gemini);
    assert_eq!(
        outgoing.body["contents"][0]["parts"],
        json!([
            {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
            {"fileData": {"fileUri": "https://example.com/a.mp4", "mimeType": "video/mp4"}},
            {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}},
            {"fileData": {"fileUri": "https://tube.example/watch?v=1"}},
        ])
    );
    assert_eq!(outgoing.dropped, []);
    // To a Chat server they stay as they are, to others there is no place for them.
    let own = sent(
        ClientDialect::Chat,
        &user(std::slice::from_ref(&audio)),
        Dialect::Chat,
    );
    assert_eq!(own.body["messages"][0]["content"][0], audio);
    let error = refused(
        ClientDialect::Chat,
        &user(std::slice::from_ref(&audio)),
        Dialect::Messages,
    );
    assert_eq!(error.field(), Some("messages[0].content[0]"));
    let body = json!({"model": "m", "input": [{"role": "user", "content": [audio]}]});
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Gemini);
    let part = &outgoing.body["contents"][0]["parts"][0];
    assert_eq!(part["inlineData"]["mimeType"], "audio/wav");
}

#[test]
fn fields_beside_a_recording_are_named_and_a_broken_one_refused() {
    let audio = json!({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "mp3"}, "speed": 2});
    let outgoing = sent(ClientDialect::Chat, &user(&[audio]), Dialect::Gemini);
    assert_eq!(dropped(&outgoing), ["messages[0].content[0].speed"]);
    let broken = json!({"type": "input_audio", "input_audio": {"format": "mp3"}});
    let error = refused(ClientDialect::Chat, &user(&[broken]), Dialect::Gemini);
    assert_eq!(error.field(), Some("messages[0].content[0]"));
}

fn from_gemini(part: Value) -> Value {
    json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "Look."}, part]}]})
}

fn inline(media_type: &str) -> Value {
    from_gemini(json!({"inlineData": {"mimeType": media_type, "data": "UklGRg=="}}))
}

#[test]
fn recordings_of_geminis_clients_are_recordings_for_chat_servers() {
    for (media_type, format) in [
        ("audio/wav", "wav"),
        ("audio/x-wav", "wav"),
        ("audio/mp3", "mp3"),
        ("audio/mpeg", "mp3"),
        ("audio/ogg; codecs=opus", "ogg"),
    ] {
        let outgoing = sent(ClientDialect::Gemini, &inline(media_type), Dialect::Chat);
        let audio = json!({"data": "UklGRg==", "format": format});
        assert_eq!(
            outgoing.body["messages"][0]["content"][1],
            json!({"type": "input_audio", "input_audio": audio})
        );
        assert_eq!(outgoing.dropped, []);
    }
    for (media_type, upstream) in [
        ("video/mp4", Dialect::Chat),
        ("audio/x-unknown", Dialect::Chat),
        ("video/mp4", Dialect::Responses),
        ("audio/wav", Dialect::Responses),
    ] {
        let error = refused(ClientDialect::Gemini, &inline(media_type), upstream);
        assert_eq!(error.field(), Some("contents[0].parts[1].inlineData"));
        assert!(error.to_string().contains(media_type), "{error}");
    }
}

#[test]
fn a_file_without_a_name_gets_one_of_its_type() {
    for (media_type, name) in [
        (DOCX, "document.docx"),
        ("application/pdf", "document.pdf"),
        ("application/json", "document.json"),
        ("application/zip", "document.bin"),
    ] {
        let body = inline(media_type);
        let outgoing = sent(ClientDialect::Gemini, &body, Dialect::Chat);
        let file = &outgoing.body["messages"][0]["content"][1]["file"];
        assert_eq!(file["filename"], name);
        let outgoing = sent(ClientDialect::Gemini, &body, Dialect::Responses);
        let file = &outgoing.body["input"][0]["content"][1];
        assert_eq!(file["filename"], name);
        let data = format!("data:{media_type};base64,UklGRg==");
        assert_eq!(file["file_data"], data);
    }
}

#[test]
fn a_document_in_the_place_of_an_image_is_a_document_for_other_apis() {
    let data = "JVBERi0=";
    let url = format!("data:application/pdf;base64,{data}");
    let part = json!({"type": "image_url", "image_url": {"url": url}});
    let body = user(std::slice::from_ref(&part));
    let to = |upstream| sent(ClientDialect::Chat, &body, upstream).body;
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": data});
    assert_eq!(
        to(Dialect::Messages)["messages"][0]["content"][0],
        json!({"type": "document", "source": source})
    );
    assert_eq!(
        to(Dialect::Responses)["input"][0]["content"][0],
        json!({"type": "input_file", "filename": "document.pdf", "file_data": url})
    );
    let converse = &to(Dialect::Converse)["messages"][0]["content"][0];
    assert_eq!(converse["document"]["format"], "pdf");
    // Some Chat servers accept it there.
    assert_eq!(to(Dialect::Chat)["messages"][0]["content"][0], part);
    let zip =
        json!({"type": "image_url", "image_url": {"url": "data:application/zip;base64,UEs="}});
    let error = refused(ClientDialect::Chat, &user(&[zip]), Dialect::Messages);
    assert_eq!(error.field(), Some("messages[0].content[0].image_url"));
}

#[test]
fn an_image_in_the_place_of_a_file_is_an_image_for_other_apis() {
    let part = json!({"type": "input_file", "filename": "a.png",
        "file_data": "data:image/png;base64,iVBO"});
    let body = json!({"model": "m", "input": [{"role": "user", "content": [part]}]});
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Chat);
    assert_eq!(
        outgoing.body["messages"][0]["content"][0]["image_url"]["url"],
        "data:image/png;base64,iVBO"
    );
    assert_eq!(dropped(&outgoing), ["input[0].content[0].filename"]);
}

#[test]
fn documents_of_mistrals_clients_and_for_mistral_are_addresses() {
    let data = format!("data:application/pdf;base64,{}", STANDARD.encode("%PDF-1"));
    let part = json!({"type": "document_url", "document_url": data, "document_name": "a.pdf"});
    let outgoing = sent(
        ClientDialect::Chat,
        &user(std::slice::from_ref(&part)),
        Dialect::Messages,
    );
    let document = &outgoing.body["messages"][0]["content"][0];
    assert_eq!(document["type"], "document");
    assert_eq!(document["title"], "a.pdf");
    assert_eq!(document["source"]["media_type"], "application/pdf");

    let address = json!({"type": "document_url", "document_url": {"url": "https://a.test/a.pdf"}});
    let outgoing = sent(ClientDialect::Chat, &user(&[address]), Dialect::Messages);
    let source = &outgoing.body["messages"][0]["content"][0]["source"];
    assert_eq!(
        *source,
        json!({"type": "url", "url": "https://a.test/a.pdf"})
    );

    let mistral = ("mistral-large-latest", "api.mistral.ai");
    let outgoing = sent_to(
        ClientDialect::Chat,
        &user(&[file("application/pdf", "%PDF-1", "a.pdf")]),
        Dialect::Chat,
        mistral,
    );
    assert_eq!(outgoing.body["messages"][0]["content"], json!([part]));
}
