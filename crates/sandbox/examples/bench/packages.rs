//! numpy and PIL, from the index that the host's pip uses.

use prowess_sandbox::{Layer, PackageIndex, Requirements, Sandbox};
use std::process::Command;

/// Prints the index URL and file hosts of pip.
const ASK: &str = "from pip._internal.models.index import PyPI as index
print(index.simple_url, index.netloc, index.file_storage_domain)";

pub(crate) fn index() -> Option<PackageIndex> {
    let answer = Command::new(crate::PYTHON)
        .args(["-c", ASK])
        .output()
        .ok()?;
    let answer = String::from_utf8(answer.stdout).ok()?;
    let mut words = answer.split_whitespace();
    Some(PackageIndex {
        url: words.next()?.to_owned(),
        hosts: words.map(|host| host.parse().unwrap()).collect(),
        allow_source: false,
    })
}

/// The layer, unless the index cannot be reached.
pub(crate) async fn layer(sandbox: &Sandbox) -> Option<Layer> {
    let requirements = Requirements::parse("numpy\npillow").unwrap();
    let built = sandbox.layer("bench", &requirements).await;
    built
        .inspect_err(|why| println!("without a layer: {why}"))
        .ok()
}
