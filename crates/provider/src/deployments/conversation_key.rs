//! What identifies a conversation, so that it is sent to the deployment that has its prompt
//! cached: an id that the client sends for that purpose, or else the beginning of the prompt.
//! Only computed for models with several deployments.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Block, Request, Role};
use prowess_wire::raw::RawObject;
use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::client_request::ClientRequest;

/// Fields whose value identifies a conversation, or what its requests share.
const ID_FIELDS: [&str; 6] = [
    "prompt_cache_key",
    "container",
    "conversation",
    "cachedContent",
    "cached_content",
    "previous_response_id",
];
/// How much of a text counts. Prompts that differ only behind it share most of a cache.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// One seed per process: a configuration that is read again takes the keys over.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The key of a client's request.
pub(crate) fn of_client_request(incoming: &ClientRequest<'_>) -> Option<u64> {
    let raw = incoming.raw;
    let mut hash = SEED.build_hasher();
    if hash_id_field(raw, &mut hash) || hash_user(raw, &mut hash) {
        return Some(hash.finish());
    }
    let (system, conversation) = match incoming.client {
        ClientDialect::Messages => (raw.get("system"), raw.get("messages")),
        ClientDialect::Chat => (None, raw.get("messages")),
        ClientDialect::Responses => (raw.get("instructions"), raw.get("input")),
        ClientDialect::Gemini => (
            raw.get_camel_or_snake("systemInstruction"),
            raw.get("contents"),
        ),
    };
    hash_text(system.unwrap_or_default(), &mut hash);
    hash_beginning(conversation?, &mut hash);
    Some(hash.finish())
}

/// The key of requests that continue a response which their provider stores; the id is JSON.
pub(crate) fn of_stored_response(id_json: &str) -> u64 {
    SEED.hash_one(("previous_response_id", id_json))
}

/// What stands for the owner of conversations.
pub(crate) fn hash_owner(owner: &str) -> u64 {
    SEED.hash_one(("owner", owner))
}

/// The key of a request in neutral form.
pub(crate) fn of_request(request: &Request) -> Option<u64> {
    let mut hash = SEED.build_hasher();
    let id = ID_FIELDS.iter().find_map(|key| request.rest.get(*key));
    if let Some(id) = id.or(request.container.as_ref()) {
        id.to_string().hash(&mut hash);
        return Some(hash.finish());
    }
    if let Some(user) = &request.user {
        user.hash(&mut hash);
        return Some(hash.finish());
    }
    hash_blocks(&request.system, &mut hash);
    let mut messages = request.messages.iter();
    let first = messages.find(|message| message.role == Role::User)?;
    hash_blocks(&first.content, &mut hash);
    Some(hash.finish())
}

fn hash_blocks(blocks: &[Block], hash: &mut impl Hasher) {
    for text in blocks.iter().filter_map(Block::as_text) {
        hash_text(text, hash);
    }
}

fn hash_id_field(raw: &RawObject<'_>, hash: &mut impl Hasher) -> bool {
    let id = ID_FIELDS.iter().find_map(|field| {
        let value = raw.get(field)?;
        (value != "null").then_some((field, value))
    });
    id.inspect(|id| id.hash(hash)).is_some()
}

/// Agents send the id of their session as the user's.
fn hash_user(raw: &RawObject<'_>, hash: &mut impl Hasher) -> bool {
    #[derive(Deserialize)]
    struct Metadata {
        user_id: Option<String>,
    }
    let metadata = raw.get("metadata");
    let metadata = metadata.and_then(|json| serde_json::from_str::<Metadata>(json).ok());
    let user = metadata.and_then(|metadata| metadata.user_id);
    user.inspect(|user| user.hash(hash)).is_some()
}

fn hash_text(text: &str, hash: &mut impl Hasher) {
    let bytes = text.as_bytes();
    hash.write(bytes.get(..MAX_TEXT_BYTES).unwrap_or(bytes));
    hash.write_u8(0xff);
}

/// Hashes the messages up to the first of a user; a text is one.
fn hash_beginning<H: Hasher>(conversation: &str, hash: &mut H) {
    if conversation.starts_with('"') {
        return hash_text(conversation, hash);
    }
    let mut json = serde_json::Deserializer::from_str(conversation);
    // Reading stops with an error behind the first message of a user; nothing else of it is
    // needed, and the whole body has been checked to be JSON.
    let _ = json.deserialize_seq(Beginning(hash));
}

/// Hashes the first messages of a list.
struct Beginning<'h, H>(&'h mut H);

/// The parts of a message that count. Cache marks move from message to message, so they do not.
#[derive(Deserialize)]
struct MessageStart<'a> {
    role: Option<String>,
    #[serde(borrow, alias = "parts")]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextPart<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

impl<'de, H: Hasher> Visitor<'de> for Beginning<'_, H> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(message) = list.next_element::<MessageStart<'de>>()? {
            if let Some(content) = message.content {
                hash_content(content.get(), self.0);
            }
            if message.role.as_deref().is_none_or(|role| role == "user") {
                return Err(A::Error::custom("the first message of a user was read"));
            }
        }
        Ok(())
    }
}

fn hash_content(content: &str, hash: &mut impl Hasher) {
    match serde_json::from_str::<Vec<TextPart<'_>>>(content) {
        Ok(parts) => {
            for text in parts.iter().filter_map(|part| part.text) {
                hash_text(text.get(), hash);
            }
        }
        Err(_) => hash_text(content, hash),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prowess_wire::Dialect;
    use prowess_wire::neutral::Message;
    use serde_json::{Value, json};

    use super::*;
    use crate::upstream::ModelTask;

    fn key(client: ClientDialect, body: &Value) -> Option<u64> {
        let body = Bytes::from(body.to_string());
        let raw = RawObject::parse(&body).unwrap();
        of_client_request(&ClientRequest {
            client,
            task: ModelTask::Generate,
            body: &body,
            raw: &raw,
            model: "m",
            stream: false,
            json_array: false,
        })
    }

    #[test]
    fn a_conversation_keeps_its_key_as_it_grows() {
        let messages = |more: &[Value], cached: bool| {
            let mut text = json!({"type": "text", "text": "Hello"});
            if cached {
                text["cache_control"] = json!({"type": "ephemeral"});
            }
            let first = json!({"role": "user", "content": [text]});
            let all = [&[first][..], more].concat();
            json!({"system": "Be brief", "messages": all})
        };
        let more = [
            json!({"role": "assistant", "content": "Hi"}),
            json!({"role": "user", "content": "More"}),
        ];
        let client = ClientDialect::Messages;
        let first = key(client, &messages(&[], true));
        assert_eq!(first, key(client, &messages(&more, false)));
        let mut other = messages(&[], true);
        other["system"] = json!("Be verbose");
        assert_ne!(first, key(client, &other));

        let chat = |more: &[Value]| {
            let start = [
                json!({"role": "system", "content": "Be brief"}),
                json!({"role": "user", "content": "Hello"}),
            ];
            let all = [&start[..], more].concat();
            json!({"messages": all})
        };
        let client = ClientDialect::Chat;
        assert_eq!(key(client, &chat(&[])), key(client, &chat(&more)));
        let part = |text: &str| json!({"parts": [{"text": text}]});
        let client = ClientDialect::Gemini;
        assert_eq!(
            key(client, &json!({"contents": [part("a")]})),
            key(client, &json!({"contents": [part("a"), part("b")]})),
        );
        assert_ne!(
            key(client, &json!({"contents": [part("a")]})),
            key(client, &json!({"contents": [part("b")]})),
        );
        let client = ClientDialect::Responses;
        assert_ne!(
            key(client, &json!({"input": "a"})),
            key(client, &json!({"input": "b"})),
        );
    }

    #[test]
    fn an_id_of_the_client_comes_before_the_text() {
        let client = ClientDialect::Responses;
        let body = |id: &str, text: &str| json!({"prompt_cache_key": id, "input": text});
        assert_eq!(key(client, &body("a", "x")), key(client, &body("a", "y")));
        assert_ne!(key(client, &body("a", "x")), key(client, &body("b", "x")));
        let body = |id: &str, text: &str| {
            let message = json!({"role": "user", "content": text});
            json!({"metadata": {"user_id": id}, "messages": [message]})
        };
        let client = ClientDialect::Messages;
        assert_eq!(key(client, &body("a", "x")), key(client, &body("a", "y")));
        assert_ne!(key(client, &body("a", "x")), key(client, &body("b", "x")));
        assert_eq!(key(client, &json!({"container": null})), None);
        let client = ClientDialect::Responses;
        assert_eq!(
            key(
                client,
                &json!({"previous_response_id": "resp_1", "input": "x"})
            ),
            Some(of_stored_response("\"resp_1\"")),
        );
    }

    #[test]
    fn a_neutral_request_has_a_key_too() {
        let mut request = Request::new(Dialect::Messages, "m");
        assert_eq!(of_request(&request), None);
        request.messages.push(Message::user("Hello"));
        let first = of_request(&request);
        request.messages.push(Message::user("More"));
        assert_eq!(of_request(&request), first);
        request.user = Some("someone".to_owned());
        assert_ne!(of_request(&request), first);
    }
}
