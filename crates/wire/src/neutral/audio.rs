//! Speech of a Chat model. A stream has it in pieces, each of which is base64 of its own; they go
//! on as they come, because clients play them. A whole response has it in one piece.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Map, StreamEvent};

/// The field of a Chat message with its speech.
pub(crate) const AUDIO: &str = "audio";

/// The name of an event with a piece of speech.
const AUDIO_DELTA: &str = "chat.audio.delta";

/// The most bytes of speech that a response is collected with: about twenty minutes.
const MAX_AUDIO_BYTES: usize = 64 << 20;

/// The event with a piece of speech.
pub(crate) fn audio_event(piece: Map) -> StreamEvent {
    StreamEvent::Other {
        name: AUDIO_DELTA.to_owned(),
        data: piece,
    }
}

/// Whether an event has a piece of speech, by its name. Only Chat clients can request speech.
pub(crate) fn is_audio(name: &str) -> bool {
    name == AUDIO_DELTA
}

/// The speech of a stream so far.
#[derive(Debug, Default)]
pub(crate) struct CollectedAudio {
    fields: Map,
    transcript: String,
    data: Vec<u8>,
    /// Whether a piece could not be read, or there was too much.
    incomplete: bool,
}

impl CollectedAudio {
    pub(crate) fn push(&mut self, piece: Map) {
        for (key, value) in piece {
            match (key.as_str(), &value) {
                ("transcript", Value::String(more)) => self.transcript.push_str(more),
                ("data", Value::String(more)) => self.push_data(more),
                (_, Value::Null) => {}
                _ => {
                    self.fields.insert(key, value);
                }
            }
        }
    }

    fn push_data(&mut self, more: &str) {
        let room = MAX_AUDIO_BYTES.saturating_sub(self.data.len());
        match STANDARD.decode(more) {
            Ok(more) if more.len() <= room && !self.incomplete => self.data.extend(more),
            _ => self.incomplete = true,
        }
    }

    /// The speech as in a whole response; nothing if there was none. Clients cannot play a part
    /// of it, so without the rest they get what was said as text.
    pub(crate) fn finish(self) -> Option<Map> {
        let mut whole = self.fields;
        if !self.data.is_empty() && !self.incomplete {
            whole.insert("data".to_owned(), STANDARD.encode(&self.data).into());
        }
        if !self.transcript.is_empty() {
            whole.insert("transcript".to_owned(), self.transcript.into());
        }
        (!whole.is_empty()).then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn collected(pieces: &[Value]) -> Value {
        let mut audio = CollectedAudio::default();
        for piece in pieces {
            audio.push(piece.as_object().cloned().unwrap_or_default());
        }
        audio.finish().map_or(Value::Null, Value::Object)
    }

    #[test]
    fn pieces_become_one_recording() {
        let pieces = [
            json!({"id": "audio_1", "transcript": "Good "}),
            json!({"id": "audio_1", "data": STANDARD.encode("a")}),
            json!({"transcript": "day.", "data": null}),
            json!({"data": STANDARD.encode("bc")}),
            json!({"expires_at": 7}),
        ];
        let whole = json!({"id": "audio_1", "expires_at": 7, "data": STANDARD.encode("abc"),
            "transcript": "Good day."});
        assert_eq!(collected(&pieces), whole);
        assert_eq!(collected(&[]), Value::Null);
    }

    #[test]
    fn a_recording_with_a_hole_is_left_out() {
        let pieces = [
            json!({"data": STANDARD.encode("a")}),
            json!({"data": "?", "transcript": "Good day."}),
            json!({"data": STANDARD.encode("b")}),
        ];
        assert_eq!(collected(&pieces), json!({"transcript": "Good day."}));
    }
}
