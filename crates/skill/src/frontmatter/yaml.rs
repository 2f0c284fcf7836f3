//! Parser events to a [`Node`] tree, within a budget.
//!
//! The one place that talks to the YAML crate. It also notes the marks of flow
//! style, anchors, aliases and tags as they pass, which is all that the strict
//! reading adds to the lenient one.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span, StructureStyle};

use super::measure::NodeMeasure;
use super::node::{Node, NodeKind};
use crate::limits::BundleLimits;

/// What came of reading a YAML text: as much of each as there was before the
/// reader stopped.
#[derive(Debug, Default)]
pub(super) struct ParsedYaml {
    /// The first document, when it was read to its end; `None` also for an empty one.
    pub(super) root: Option<Node>,
    /// Marks a strict reader cares about, in the order in which they came.
    pub(super) features: Vec<Feature>,
    /// Where the collections began that were still open when reading stopped,
    /// outermost first.
    pub(super) open: Vec<usize>,
    /// Where each document began.
    pub(super) documents: Vec<usize>,
    /// Why reading stopped early.
    pub(super) error: Option<YamlError>,
}

/// Why a YAML text could not be parsed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum YamlError {
    /// It is not YAML, from this byte on.
    Syntax { kind: ErrorKind, at: usize },
    /// It has more nodes than the limit, with aliases expanded.
    TooManyNodes(usize),
    /// Its aliases repeat more bytes of text than the limit.
    TooMuchText(usize),
    /// It is nested deeper than the limit, with aliases expanded.
    TooDeep(usize),
    /// Collections are keys inside one another, deeper than the limit.
    KeysTooDeep(usize),
}

/// Collections that may be keys inside one another. `{{ name }}`, which is meant as text, is one.
const MAX_KEY_DEPTH: usize = 3;

/// A mark that strict reading cares about, with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Feature {
    pub(super) kind: FeatureKind,
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// A collection in brackets.
    Flow,
    /// `&name`
    Anchor,
    /// `*name`
    Alias,
    /// `!name`
    Tag,
    /// The inside of a quoted or block scalar.
    Text,
}

/// Reads the first document of a YAML text.
///
/// The parser follows YAML's rules that quoted text is indented below its key and that a
/// blank precedes a comment; other readers do not. Where it stops for lack of such a blank,
/// one is inserted, which changes no value. All locations refer to the text without them.
pub(super) fn read(text: &str, limits: &BundleLimits) -> ParsedYaml {
    /// Each blank costs another pass, so their number is bounded.
    const MAX_BLANKS: usize = 64;
    let mut spaced = text.to_owned();
    let mut blanks = Vec::new();
    loop {
        let mut reading = read_once(&spaced, limits);
        match missing_blank(&spaced, &reading) {
            Some(at) if blanks.len() < MAX_BLANKS && spaced.is_char_boundary(at) => {
                spaced.insert(at, ' ');
                blanks.push(at);
            }
            _ => {
                for &blank in blanks.iter().rev() {
                    reading.forget_blank(blank);
                }
                return reading;
            }
        }
    }
}

fn missing_blank(text: &str, reading: &ParsedYaml) -> Option<usize> {
    let Some(YamlError::Syntax { kind, at }) = &reading.error else {
        return None;
    };
    let after_quote = || text.get(..*at).is_some_and(|t| t.ends_with(['"', '\'']));
    match kind {
        ErrorKind::InvalidQuotedScalarIndent => Some(*at),
        ErrorKind::CommentNotSeparated if after_quote() => Some(*at),
        _ => None,
    }
}

fn read_once(text: &str, limits: &BundleLimits) -> ParsedYaml {
    let options = granit_parser::options! {
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: limits.frontmatter_depth,
        block_nesting_limit: limits.frontmatter_depth,
    };
    let mut builder = NodeBuilder {
        reading: ParsedYaml::default(),
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes_left: limits.frontmatter_nodes,
        alias_bytes_left: limits.frontmatter_bytes,
        limits,
        text,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let step = match event {
            Ok((event, span)) => builder.handle_event(event, span),
            Err(error) => Err(YamlError::Syntax {
                kind: error.kind().clone(),
                at: error
                    .marker()
                    .byte_offset()
                    .unwrap_or(text.len())
                    .min(text.len()),
            }),
        };
        if let Err(error) = step {
            builder.reading.error = Some(error);
            break;
        }
    }
    builder.reading.open = builder.open.iter().map(|o| o.node.range.start).collect();
    builder.reading
}

impl ParsedYaml {
    /// Tells all places as if the blank at `blank` had not been put in.
    fn forget_blank(&mut self, blank: usize) {
        let shift = |at: &mut usize| *at -= usize::from(*at > blank);
        if let Some(root) = &mut self.root {
            root.for_each_range(&mut |range| {
                shift(&mut range.start);
                shift(&mut range.end);
            });
        }
        for feature in &mut self.features {
            shift(&mut feature.range.start);
            shift(&mut feature.range.end);
        }
        self.open.iter_mut().for_each(shift);
        self.documents.iter_mut().for_each(shift);
        if let Some(YamlError::Syntax { at, .. }) = &mut self.error {
            shift(at);
        }
    }
}

struct NodeBuilder<'a> {
    reading: ParsedYaml,
    /// Collections that are not closed yet, outermost first.
    open: Vec<OpenNode>,
    /// Finished nodes that carry an anchor.
    anchors: HashMap<usize, Node>,
    nodes_left: usize,
    /// Bytes of text that aliases may still repeat.
    alias_bytes_left: usize,
    limits: &'a BundleLimits,
    text: &'a str,
}

struct OpenNode {
    node: Node,
    anchor: usize,
    /// A mapping's key whose value is next.
    key: Option<Node>,
}

impl NodeBuilder<'_> {
    fn handle_event(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let range = self.bytes(&span);
        match event {
            Event::DocumentStart(..) => self.reading.documents.push(range.start),
            Event::Scalar(text, style, anchor, tag) => {
                self.note_tag(tag.is_some(), &span);
                if style != ScalarStyle::Plain {
                    self.note(FeatureKind::Text, range.clone());
                }
                let plain = style == ScalarStyle::Plain && tag.is_none();
                // The parser writes `~` for a value that is not there.
                let text = if plain && range.is_empty() {
                    String::new()
                } else {
                    text.into_owned()
                };
                let kind = NodeKind::Scalar { text, plain };
                self.finish(Node { kind, range }, anchor)?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.note_tag(tag.is_some(), &span);
                self.begin(NodeKind::Sequence(Vec::new()), style, anchor, range)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.note_tag(tag.is_some(), &span);
                self.begin(NodeKind::Mapping(Vec::new()), style, anchor, range)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut closed) = self.open.pop() {
                    closed.node.range.end = range.end.max(closed.node.range.start);
                    self.finish(closed.node, closed.anchor)?;
                }
            }
            Event::Anchor(..) => self.note(FeatureKind::Anchor, range),
            Event::Alias(target) => {
                self.note(FeatureKind::Alias, range.clone());
                // An alias to an anchor that is still open would be an infinite tree: it is empty.
                let target = self.anchors.get(&target);
                let kind = target.map_or_else(empty_scalar, |node| node.kind.clone());
                let node = Node { kind, range };
                self.spend_alias(NodeMeasure::from_node(&node))?;
                self.finish(node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        kind: NodeKind,
        style: StructureStyle,
        anchor: usize,
        range: Range<usize>,
    ) -> Result<(), YamlError> {
        if style == StructureStyle::Flow {
            self.note(FeatureKind::Flow, range.clone());
        }
        if self.open.len() >= self.limits.frontmatter_depth {
            return Err(YamlError::TooDeep(self.limits.frontmatter_depth));
        }
        self.open.push(OpenNode {
            node: Node { kind, range },
            anchor,
            key: None,
        });
        Ok(())
    }

    /// A node is complete: add it to its collection.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        self.spend_nodes(1)?;
        if anchor > 0 {
            self.spend_nodes(NodeMeasure::from_node(&node).nodes)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(around) = self.open.last_mut() else {
            if self.reading.documents.len() <= 1 {
                self.reading.root = Some(node);
            }
            return Ok(());
        };
        match &mut around.node.kind {
            NodeKind::Sequence(items) => items.push(node),
            NodeKind::Mapping(entries) => match around.key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    if NodeMeasure::from_node(&node).as_key().key_depth > MAX_KEY_DEPTH {
                        return Err(YamlError::KeysTooDeep(MAX_KEY_DEPTH));
                    }
                    around.key = Some(node);
                }
            },
            NodeKind::Scalar { .. } => {}
        }
        Ok(())
    }

    fn spend_nodes(&mut self, nodes: usize) -> Result<(), YamlError> {
        self.nodes_left = self
            .nodes_left
            .checked_sub(nodes)
            .ok_or(YamlError::TooManyNodes(self.limits.frontmatter_nodes))?;
        Ok(())
    }

    /// An alias counts with all that it repeats, at the depth at which it stands.
    fn spend_alias(&mut self, target: NodeMeasure) -> Result<(), YamlError> {
        if self.open.len() + target.depth > self.limits.frontmatter_depth {
            return Err(YamlError::TooDeep(self.limits.frontmatter_depth));
        }
        self.alias_bytes_left = self
            .alias_bytes_left
            .checked_sub(target.bytes)
            .ok_or(YamlError::TooMuchText(self.limits.frontmatter_bytes))?;
        self.spend_nodes(target.nodes)
    }

    fn note(&mut self, kind: FeatureKind, range: Range<usize>) {
        self.reading.features.push(Feature { kind, range });
    }

    fn note_tag(&mut self, tagged: bool, span: &Span) {
        if tagged {
            let range = span.tag_span().map(|tag| self.bytes(&tag));
            self.note(FeatureKind::Tag, range.unwrap_or_default());
        }
    }

    fn bytes(&self, span: &Span) -> Range<usize> {
        span.byte_range()
            .unwrap_or(self.text.len()..self.text.len())
    }
}

fn empty_scalar() -> NodeKind {
    NodeKind::Scalar {
        text: String::new(),
        plain: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        let reading = read(text, &BundleLimits::default());
        assert_eq!(reading.error, None, "{text}");
        reading
            .root
            .map_or("nothing".into(), |root| root.to_json().to_string())
    }

    #[test]
    fn reads_folded_quoted_nested_flow_and_aliases() {
        assert_eq!(json("a: >-\n  x\n  y\n"), r#"{"a":"x y"}"#);
        assert_eq!(
            json("a: \"x\\ty\"\nb: 'it''s'\n"),
            r#"{"a":"x\ty","b":"it's"}"#
        );
        assert_eq!(json("a: {b: [1, no]}\n"), r#"{"a":{"b":[1,"no"]}}"#);
        assert_eq!(json("a: &x [1]\nb: *x\n"), r#"{"a":[1],"b":[1]}"#);
        assert_eq!(json("# nothing\n"), "nothing");
    }

    #[test]
    fn an_alias_bomb_runs_out_of_budget() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        let reading = read(&bomb, &BundleLimits::default());
        assert_eq!(reading.error, Some(YamlError::TooManyNodes(10_000)));
    }

    #[test]
    fn aliases_of_a_long_text_run_out_of_budget() {
        let long = "x".repeat(200_000);
        let aliases = "*a, ".repeat(4_000);
        let reading = read(
            &format!("a: &a {long}\nb: [{aliases}]\n"),
            &BundleLimits::default(),
        );
        assert_eq!(reading.error, Some(YamlError::TooMuchText(256 << 10)));
    }

    #[test]
    fn aliases_nest_no_deeper_than_what_is_written_out() {
        let level = |name: &str, inner: &str| {
            let (open, close) = ("[".repeat(30), "]".repeat(30));
            format!("{name}: &{name} {open}{inner}{close}\n")
        };
        let two = level("a", "x") + &level("b", "*a");
        assert_eq!(read(&two, &BundleLimits::default()).error, None);
        let three = two + &level("c", "*b");
        let reading = read(&three, &BundleLimits::default());
        assert_eq!(reading.error, Some(YamlError::TooDeep(64)));
    }

    #[test]
    fn keys_inside_keys_are_refused_before_they_double_at_each_level() {
        assert_eq!(json("a: {{ b }}\n"), r#"{"a":{"{\"b\":null}":null}}"#);
        let mut by_aliases = String::from("a0: &a0 {x: y}\n");
        for level in 1..40 {
            let before = level - 1;
            by_aliases.push_str(&format!("a{level}: &a{level} {{*a{before} : y}}\n"));
        }
        let nested = format!("a: {}b{}\n", "{".repeat(40), "}".repeat(40));
        for text in [nested, by_aliases] {
            let reading = read(&text, &BundleLimits::default());
            assert_eq!(reading.error, Some(YamlError::KeysTooDeep(3)), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        for open in ["[", "{a: ", "- "] {
            let reading = read(&open.repeat(20_000), &BundleLimits::default());
            assert!(reading.error.is_some(), "{open}");
        }
    }
}
