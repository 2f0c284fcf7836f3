//! The items of a Responses stream so far. Some may be of a step that is repeated: they stay
//! in the stream as incomplete, and their numbers are not used again.

use serde_json::Value;

/// The items that were written.
#[derive(Debug, Default)]
pub(super) struct StreamedItems {
    items: Vec<Value>,
    /// The number of the first item of the step in progress.
    step_start: usize,
    /// The numbers of items that are not part of the response.
    abandoned: Vec<usize>,
}

impl StreamedItems {
    /// The number of the next item.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn push(&mut self, item: Value) {
        self.items.push(item);
    }

    /// All items, for the last event.
    pub(super) fn take(&mut self) -> Value {
        std::mem::take(&mut self.items).into()
    }

    /// The items so far are part of the response.
    pub(super) fn finish_step(&mut self) {
        self.step_start = self.items.len();
    }

    /// The items since the last finished step are not part of the response.
    pub(super) fn abandon_step(&mut self) {
        for (number, item) in self.items.iter_mut().enumerate().skip(self.step_start) {
            if let Some(fields) = item.as_object_mut() {
                fields.insert("status".to_owned(), "incomplete".into());
            }
            self.abandoned.push(number);
        }
        self.finish_step();
    }

    /// The numbers of items that are not part of the response, in order.
    pub(super) fn abandoned(&self) -> &[usize] {
        &self.abandoned
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::neutral::{Block, Content, Delta, Response, StreamEvent, TokenUsage};
    use crate::{ClientDialect, Dialect, ReplyContext, StreamWriter, write_response};

    /// A thought and a text, as blocks and as events from this index on.
    fn turn() -> Vec<Block> {
        let thought = Content::Thinking {
            thinking: "Hm.".to_owned(),
            signature: String::new(),
        };
        vec![Block::new(thought), Block::text("Done.")]
    }

    fn write_turn(writer: &mut StreamWriter, first: usize, out: &mut Vec<u8>, is_whole: bool) {
        for (place, block) in turn().into_iter().enumerate() {
            let index = first + place;
            writer.write(&StreamEvent::BlockStart { index, block }, out);
            if place == 1 {
                let delta = Delta::Text("More.".to_owned());
                writer.write(&StreamEvent::BlockDelta { index, delta }, out);
            }
            if place == 0 || is_whole {
                writer.write(&StreamEvent::BlockStop { index }, out);
            }
        }
    }

    fn ids<'a>(items: impl IntoIterator<Item = &'a Value>) -> Vec<&'a str> {
        let items = items.into_iter();
        items.filter_map(|item| item["id"].as_str()).collect()
    }

    #[test]
    fn items_have_the_same_ids_in_the_stream_and_in_the_response() {
        let context = ReplyContext {
            keep_response: true,
            ..ReplyContext::default()
        };
        let mut writer = StreamWriter::new(ClientDialect::Responses, context);
        let mut out = Vec::new();
        let start = StreamEvent::MessageStart {
            id: "1".to_owned(),
            model: "m".to_owned(),
            usage: TokenUsage::default(),
            rest: crate::neutral::Map::new(),
        };
        writer.write(&start, &mut out);
        write_turn(&mut writer, 0, &mut out, false);
        writer.abandon_step(&mut out);
        write_turn(&mut writer, 2, &mut out, true);
        writer.finish_step();
        writer.abandon_step(&mut out);
        writer.write(&StreamEvent::MessageStop, &mut out);
        assert_eq!(writer.abandoned_items(), [0, 1]);
        let streamed = writer.take_response().unwrap();
        let streamed = streamed["output"].as_array().unwrap();
        let status: Vec<_> = streamed.iter().map(|item| &item["status"]).collect();
        assert_eq!(status[..2], ["incomplete", "incomplete"]);
        let context = ReplyContext {
            skipped_items: writer.abandoned_items().to_vec(),
            ..ReplyContext::default()
        };
        let mut response = Response::new(Dialect::Messages, "1", "m");
        response.content = turn();
        let (body, _) = write_response(ClientDialect::Responses, &response, &context);
        let whole = body["output"].as_array().unwrap();
        assert_eq!(ids(whole), ids(&streamed[2..]));
        let all: std::collections::BTreeSet<_> = ids(streamed).into_iter().collect();
        assert_eq!(all.len(), 4, "{streamed:?}");
    }
}
