//! One text, or several.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of texts, of which a single one may be written without brackets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::config) struct TextList(Vec<String>);

impl TextList {
    pub(in crate::config) fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl Serialize for TextList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextListVisitor)
    }
}

struct TextListVisitor;

impl<'de> Visitor<'de> for TextListVisitor {
    type Value = TextList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text in quotes, or a list of such texts in brackets")
    }

    fn visit_str<E>(self, text: &str) -> Result<TextList, E> {
        Ok(TextList(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<TextList, A::Error> {
        let mut list = Vec::new();
        while let Some(text) = texts.next_element()? {
            list.push(text);
        }
        Ok(TextList(list))
    }
}

impl JsonSchema for TextList {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("TextList")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Table {
        texts: TextList,
    }

    fn read(written: &str) -> Result<Vec<String>, String> {
        let table = toml::from_str::<Table>(&format!("texts = {written}"));
        let texts = table.map(|table| table.texts.0);
        texts.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn one_text_is_a_list_of_one() {
        assert_eq!(read("'a'"), Ok(vec!["a".to_owned()]));
        assert_eq!(read("['a', 'b']"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read("[]"), Ok(Vec::new()));
        let refused = read("7").unwrap_err();
        assert!(
            refused.contains("expected text in quotes, or a list"),
            "{refused}"
        );
        read("[7]").unwrap_err();
    }
}
