//! What the upstream's own servers produce during a run: a container, files, and response
//! fields that only its dialect has.

use prowess_wire::neutral::{Block, Content, Map, TextPlace, merge_dialect_fields, move_places};
use serde_json::{Value, json};

use crate::turns::provider_files::file_references;

/// The output of the upstream's own servers, over all turns.
#[derive(Debug, Default)]
pub(crate) struct UpstreamOutput {
    /// Its container, as it last sent it.
    pub(crate) container: Option<Value>,
    /// Files that it created.
    files: Vec<Value>,
    /// Response fields that only its dialect has.
    pub(crate) response_extras: Map,
}

impl UpstreamOutput {
    /// Adds what a turn produced, and returns whether the upstream's servers were called. The
    /// turn's text begins at a place in that of the run.
    pub(crate) fn add_turn(
        &mut self,
        content: &[Block],
        mut rest: Map,
        begins_at: TextPlace,
        provider: &str,
    ) -> bool {
        move_places(&mut rest, begins_at);
        merge_dialect_fields(&mut self.response_extras, &rest);
        for block in content {
            self.files.extend(file_references(&block.content, provider));
        }
        content
            .iter()
            .any(|block| matches!(block.content, Content::ServerToolUse { .. }))
    }

    /// Appends its files to those that a container lists.
    pub(crate) fn add_files_to(&self, container: &mut Value) {
        if let Some(map) = container.as_object_mut()
            && let Value::Array(files) = map.entry("files").or_insert_with(|| json!([]))
        {
            files.extend(self.files.iter().cloned());
        }
    }
}
