//! Audio and video of Chat and Responses clients, which Gemini accepts like images. No
//! other dialect supports them, so they are retained as they came.

use serde_json::{Value, json};

use crate::media_types::media_type_for_name;
use crate::neutral::{Block, Content, Map};
use crate::plain_text::split_data_url;

/// The field of a part that holds a recording or a film.
pub(super) fn field(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Other { kind } => ["input_audio", "audio_url", "video_url"]
            .into_iter()
            .find(|known| known == kind && block.rest.contains_key(*known)),
        _ => None,
    }
}

/// Fields of a block that do not describe the recording itself.
pub(super) fn rest(block: &Block) -> Map {
    let known = field(block);
    let others = block
        .rest
        .iter()
        .filter(|(key, _)| Some(key.as_str()) != known);
    others
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The recording as a part; `None` when it does not match its type.
pub(super) fn part(block: &Block) -> Option<Value> {
    let recording = block.rest.get(field(block)?)?;
    match recording.get("data").and_then(Value::as_str) {
        Some(data) => {
            let (media_type, data) = match split_data_url(data) {
                Some((media_type, data)) => (media_type.to_owned(), data),
                None => (audio_type(recording.get("format")?.as_str()?)?, data),
            };
            Some(inline(&media_type, data))
        }
        None => film(recording.get("url").unwrap_or(recording).as_str()?),
    }
}

fn film(url: &str) -> Option<Value> {
    if let Some((media_type, data)) = split_data_url(url) {
        return Some(inline(media_type, data));
    }
    let mut file = Map::from_iter([("fileUri".to_owned(), url.into())]);
    if let Some(media_type) = media_type_for_name(url) {
        file.insert("mimeType".to_owned(), media_type.into());
    }
    url.contains("://").then(|| json!({"fileData": file}))
}

fn inline(media_type: &str, data: &str) -> Value {
    json!({"inlineData": {"mimeType": media_type, "data": data}})
}

/// OpenAI names the format of a recording by its file extension.
fn audio_type(format: &str) -> Option<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let fits = !format.is_empty() && format.len() <= 20 && format.chars().all(word);
    match format {
        "pcm16" => Some("audio/pcm".to_owned()),
        _ => fits.then(|| format!("audio/{format}")),
    }
}
