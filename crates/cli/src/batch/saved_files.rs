//! Saves the files that the code of a request has created.

use std::path::Path;

use prowess::OutputFolder;
use prowess_client::{Client, Error};

use super::follow::retry;
use super::report::BatchReport;
use super::requests::prompt_name;
use crate::display_path;

/// Maximum bytes of a file that is saved.
const MAX_FILE_BYTES: usize = 512 << 20;

/// Saves files in a folder of their line, and returns their paths. A file that was written
/// several times is saved as it was at the end; one that cannot be saved is reported.
pub(super) async fn save_files(
    client: &Client,
    ids: &[String],
    folder: &Path,
    line: u64,
    report: &mut BatchReport,
) -> anyhow::Result<Vec<String>> {
    let mut named: Vec<(String, &str)> = Vec::new();
    for id in ids {
        match retry(report, async || client.file_name(id).await).await {
            Ok(name) => {
                named.retain(|(other, _)| *other != name);
                named.push((name, id));
            }
            Err(error) => report.print(&format!("{id} cannot be saved: {error:#}")),
        }
    }
    // A command that continues saves them again.
    let mut folder = OutputFolder::new(folder.join(prompt_name(line))).overwriting();
    let mut saved = Vec::new();
    for (name, id) in named {
        match retry(report, async || read(client, id).await).await {
            Ok(Some(content)) => {
                let path = display_path(&folder.save(&name, content).await?);
                report.on_saved(&path);
                saved.push(path);
            }
            Ok(None) => report.print(&format!(
                "{id} cannot be saved: it has more than {MAX_FILE_BYTES} bytes"
            )),
            Err(error) => report.print(&format!("{id} cannot be saved: {error:#}")),
        }
    }
    Ok(saved)
}

/// The content of a file; none if it is too large.
async fn read(client: &Client, id: &str) -> Result<Option<Vec<u8>>, Error> {
    let mut content = client.file_content(id).await?;
    let mut all = Vec::new();
    while let Some(part) = content.next().await? {
        all.extend_from_slice(&part);
        if all.len() > MAX_FILE_BYTES {
            return Ok(None);
        }
    }
    Ok(Some(all))
}
