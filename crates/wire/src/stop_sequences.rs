//! Stop sequences that an upstream does not support: all, more than so many, or blank ones.
//!
//! The text is truncated where a sequence begins. The stream is still read to its end,
//! so that the usage reported to the client is the real one.

use crate::neutral::{Content, Delta, Response, StopReason, StreamEvent};

/// The stop sequences of a request, divided.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DividedStops {
    /// Those that the upstream is sent.
    pub(crate) sent: Vec<String>,
    /// Those that whoever reads the response looks for.
    pub(crate) filtered: Vec<String>,
}

/// Divides stop sequences for an upstream that accepts at most so many, each of them by this
/// rule; one that it does not accept would have it refuse the request.
pub(crate) fn divide_stops(
    stops: &[String],
    most: usize,
    is_accepted: fn(&str) -> bool,
) -> DividedStops {
    let mut divided = DividedStops::default();
    for stop in stops {
        if is_accepted(stop) && divided.sent.len() < most {
            divided.sent.push(stop.clone());
        } else {
            divided.filtered.push(stop.clone());
        }
    }
    divided
}

/// Cuts a stream's text at the first stop sequence.
#[derive(Debug)]
pub(crate) struct StopSequenceFilter {
    stops: Vec<String>,
    /// Text that may be the beginning of a sequence.
    pending: String,
    matched: Option<String>,
}

impl StopSequenceFilter {
    /// A filter; `None` without stop sequences.
    pub(crate) fn new(stops: &[String]) -> Option<Self> {
        let stops: Vec<String> = stops.iter().filter(|s| !s.is_empty()).cloned().collect();
        (!stops.is_empty()).then_some(StopSequenceFilter {
            stops,
            pending: String::new(),
            matched: None,
        })
    }

    pub(crate) fn apply(&mut self, events: Vec<StreamEvent>) -> Vec<StreamEvent> {
        let mut out = Vec::with_capacity(events.len());
        for event in events {
            self.event(event, &mut out);
        }
        out
    }

    fn event(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::MessageDelta {
                container,
                usage,
                rest,
                ..
            } if self.matched.is_some() => out.push(StreamEvent::MessageDelta {
                stop_reason: Some(StopReason::StopSequence),
                stop_sequence: self.matched.clone(),
                stop_details: None,
                container,
                usage,
                rest,
            }),
            StreamEvent::BlockStart { .. }
            | StreamEvent::BlockDelta { .. }
            | StreamEvent::BlockStop { .. }
                if self.matched.is_some() => {}
            StreamEvent::BlockDelta {
                index,
                delta: Delta::Text(text),
            } => self.text(index, &text, out),
            StreamEvent::BlockStop { index } => {
                let held = std::mem::take(&mut self.pending);
                push_text(index, held, out);
                out.push(StreamEvent::BlockStop { index });
            }
            other => out.push(other),
        }
    }

    fn text(&mut self, index: usize, text: &str, out: &mut Vec<StreamEvent>) {
        self.pending.push_str(text);
        if let Some((before, stop)) = first_stop(&self.pending, &self.stops) {
            push_text(index, before.to_owned(), out);
            out.push(StreamEvent::BlockStop { index });
            self.matched = Some(stop.to_owned());
            self.pending.clear();
            return;
        }
        let keep = self.longest_beginning();
        let tail = self.pending.split_off(self.pending.len() - keep);
        push_text(index, std::mem::replace(&mut self.pending, tail), out);
    }

    /// How many bytes at the end of the held text may begin a sequence.
    fn longest_beginning(&self) -> usize {
        let starts = self.pending.char_indices().map(|(at, _)| at);
        let tails = starts.filter_map(|at| self.pending.get(at..));
        tails
            .filter(|tail| self.stops.iter().any(|stop| stop.starts_with(tail)))
            .map(str::len)
            .max()
            .unwrap_or(0)
    }
}

fn push_text(index: usize, text: String, out: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        out.push(StreamEvent::BlockDelta {
            index,
            delta: Delta::Text(text),
        });
    }
}

fn first_stop<'a>(text: &'a str, stops: &'a [String]) -> Option<(&'a str, &'a str)> {
    stops
        .iter()
        .filter_map(|stop| Some((text.split_once(stop.as_str())?.0, stop.as_str())))
        .min_by_key(|(before, _)| before.len())
}

/// Cuts a whole response.
pub(crate) fn truncate_response(response: &mut Response, stops: &[String]) {
    let Some((at, before, stop)) = find(response, stops) else {
        return;
    };
    response.content.truncate(at + 1);
    if let Some(block) = response.content.last_mut() {
        block.content = Content::Text(before);
    }
    response.stop_reason = Some(StopReason::StopSequence);
    response.stop_sequence = Some(stop);
}

fn find(response: &Response, stops: &[String]) -> Option<(usize, String, String)> {
    let texts = response.content.iter().enumerate();
    texts
        .filter_map(|(at, block)| {
            let (before, stop) = first_stop(block.as_text()?, stops)?;
            Some((at, before.to_owned(), stop.to_owned()))
        })
        .next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Dialect;
    use crate::neutral::{Block, Map, TokenUsage};

    fn streamed(pieces: &[&str], stops: &[String]) -> (String, Option<String>) {
        let mut events = vec![StreamEvent::BlockStart {
            index: 0,
            block: Block::text(""),
        }];
        events.extend(pieces.iter().map(|piece| StreamEvent::BlockDelta {
            index: 0,
            delta: Delta::Text((*piece).to_owned()),
        }));
        events.push(StreamEvent::BlockStop { index: 0 });
        events.push(StreamEvent::MessageDelta {
            stop_reason: Some(StopReason::EndTurn),
            stop_sequence: None,
            stop_details: None,
            container: None,
            usage: TokenUsage::default(),
            rest: Map::new(),
        });
        let mut text = String::new();
        let mut stop = None;
        for event in StopSequenceFilter::new(stops).unwrap().apply(events) {
            match event {
                StreamEvent::BlockDelta {
                    delta: Delta::Text(more),
                    ..
                } => text.push_str(&more),
                StreamEvent::MessageDelta { stop_sequence, .. } => stop = stop_sequence,
                _ => {}
            }
        }
        (text, stop)
    }

    #[test]
    fn a_sequence_across_pieces_is_found() {
        let stops = ["END".to_owned()];
        let found = streamed(&["aE", "N", "xE", "ND b", "c"], &stops);
        assert_eq!(found, ("aENx".to_owned(), Some("END".to_owned())));
    }

    #[test]
    fn text_that_only_begins_a_sequence_is_sent_in_the_end() {
        let stops = ["END".to_owned()];
        assert_eq!(streamed(&["a E", "N"], &stops), ("a EN".to_owned(), None));
    }

    proptest! {
        #[test]
        fn a_stream_is_cut_where_the_whole_answer_is(
            pieces in proptest::collection::vec("[abé]{0,3}", 0..8),
            stop in "[abé]{1,3}",
        ) {
            let stops = [stop];
            let mut whole = Response::new(Dialect::Responses, "i", "m");
            whole.content.push(Block::text(pieces.concat()));
            truncate_response(&mut whole, &stops);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (text, stop) = streamed(&pieces, &stops);
            prop_assert_eq!(whole.content[0].as_text(), Some(text.as_str()));
            prop_assert_eq!(whole.stop_sequence, stop);
        }
    }
}
