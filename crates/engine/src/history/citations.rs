//! Citations of files in the texts of a response, as Responses has them: added while the
//! response is written, removed when the conversation comes back.

use prowess_wire::neutral::Block;
use serde_json::{Value, json};

use crate::events::OutputFile;

/// The type of such an annotation.
const CITATION: &str = "container_file_citation";

/// Adds citations to a text. `files` are pairs of container id and file.
pub(crate) fn add_citations(block: &mut Block, files: Vec<(String, OutputFile)>) {
    let citations = files.into_iter().map(|(container_id, file)| {
        json!({
            "type": CITATION,
            "container_id": container_id,
            "file_id": file.file_id,
            "filename": file.filename,
            "start_index": 0,
            "end_index": 0,
        })
    });
    let citations: Vec<Value> = citations.collect();
    match block.rest.get_mut("annotations") {
        // Citations of the provider's own servers stay.
        Some(Value::Array(known)) => known.extend(citations),
        _ => {
            block
                .rest
                .insert("annotations".to_owned(), citations.into());
        }
    }
}

/// Removes Prowess's citations, which the model did not write. Those of the provider's own
/// servers end at an index above 0.
pub(crate) fn strip_citations(mut block: Block) -> Block {
    let is_added = |citation: &Value| {
        let end = citation.get("end_index").and_then(Value::as_u64);
        citation.get("type").and_then(Value::as_str) == Some(CITATION) && end == Some(0)
    };
    if let Some(Value::Array(citations)) = block.rest.get_mut("annotations") {
        let before = citations.len();
        citations.retain(|citation| !is_added(citation));
        if citations.is_empty() && before > 0 {
            block.rest.shift_remove("annotations");
        }
    }
    block
}
