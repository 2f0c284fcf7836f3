//! Reads a price list: names of models, and checked values of their fields.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

/// The entry that explains the fields.
const EXAMPLE: &str = "sample_spec";
/// No model costs more per token.
const MAX_COST: f64 = 0.01;
/// No model takes or gives more tokens.
const MAX_TOKENS: f64 = 1e9;

/// A price list.
pub(super) struct PriceList<'a> {
    text: &'a str,
    models: Map<String, Value>,
}

/// A model in a price list.
pub(super) struct PriceEntry<'a> {
    text: &'a str,
    pub(super) name: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> PriceList<'a> {
    pub(super) fn parse(text: &'a str) -> anyhow::Result<PriceList<'a>> {
        let models = serde_json::from_str(text).context("it is not a JSON object")?;
        Ok(PriceList { text, models })
    }

    /// Its models, by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = PriceEntry<'_>> {
        let mut models: Vec<_> = self.models.iter().collect();
        models.sort_by_key(|(name, _)| *name);
        let models = models.into_iter().filter(|(name, _)| *name != EXAMPLE);
        models.filter_map(|(name, value)| {
            Some(PriceEntry {
                text: self.text,
                name,
                fields: value.as_object()?,
            })
        })
    }
}

impl PriceEntry<'_> {
    /// A text; other values are none.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// The names of its fields.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// A cost per token.
    pub(super) fn cost(&self, field: &str) -> anyhow::Result<Option<f64>> {
        let Some(value) = self.value(field) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(cost) if (0.0..=MAX_COST).contains(&cost) => Ok(Some(cost)),
            Some(cost) => bail!(
                "{}: {cost} is not a price per token; it must be from 0 to {MAX_COST}",
                self.place(field)
            ),
            None => bail!("{}: {value} is not a price per token", self.place(field)),
        }
    }

    /// A number of tokens; none if it is zero.
    pub(super) fn tokens(&self, field: &str) -> anyhow::Result<Option<u64>> {
        let Some(value) = self.value(field) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(tokens) if (0.0..=MAX_TOKENS).contains(&tokens) => {
                Ok(Some(tokens as u64).filter(|tokens| *tokens > 0))
            }
            _ => bail!("{}: {value} is not a number of tokens", self.place(field)),
        }
    }

    /// Whether something is supported.
    pub(super) fn flag(&self, field: &str) -> anyhow::Result<bool> {
        match self.value(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(value) => bail!("{}: {value} is not true or false", self.place(field)),
        }
    }

    /// Whether a list of texts has one.
    pub(super) fn lists(&self, field: &str, text: &str) -> bool {
        let listed = self.fields.get(field).and_then(Value::as_array);
        listed.is_some_and(|listed| listed.iter().any(|known| known == text))
    }

    fn value(&self, field: &str) -> Option<&Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// Line, model and field, for an error.
    fn place(&self, field: &str) -> String {
        let key = |name: &str| format!("{}:", Value::from(name));
        let entry = self.text.find(&key(self.name)).unwrap_or_default();
        let after = self.text.get(entry..).unwrap_or_default();
        let at = entry + after.find(&key(field)).unwrap_or_default();
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}: {field}", self.name)
    }
}
