//! The container image `slim`: a Debian with interpreters, the binary, and the script that
//! starts it; and `full`, which has one more layer with a runtime.
//!
//! Each is one archive that `docker load` and tools for OCI images read alike. It is written
//! here, so that making it needs no container engine and its bytes depend on its files alone.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

use super::file_tree::{FileTree, gzip};
use super::image_root::{self, GLIBC, USER};
use super::image_runtime;
use super::program::GlibcVersion;
use super::release::Release;
use super::sums::file_digest;
use super::tarball::read;
use crate::run::command;

const SOURCES: &str = "packaging/image";

/// What people need beside the image.
const COMPANIONS: [&str; 4] = [
    "seccomp.json",
    "compose.yaml",
    "kubernetes.yaml",
    "kubernetes-cluster.yaml",
];

/// A file of the archive, named by its digest.
struct Blob {
    media_type: &'static str,
    place: PathBuf,
    digest: String,
    size: u64,
    /// The digest of a layer before it was compressed.
    content_digest: String,
}

impl Blob {
    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    /// How other files of the archive refer to it.
    fn reference(&self) -> Map<String, Value> {
        Map::from_iter([
            ("mediaType".to_owned(), json!(self.media_type)),
            (
                "digest".to_owned(),
                json!(format!("sha256:{}", self.digest)),
            ),
            ("size".to_owned(), json!(self.size)),
        ])
    }
}

/// Writes `prowess-VERSION-slim-image.tar`, with a runtime also `…-full-image.tar`, and what is
/// needed to start them safely.
pub(super) fn write(
    release: &Release,
    bill: &str,
    runtime: Option<&Path>,
    out: &Path,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        release.glibc <= GlibcVersion::parse(GLIBC),
        "the image has {GLIBC}, and the binary runs on {}: build it with --glibc 2.28",
        release.described()
    );
    let work = release.work_folder().join("image");
    std::fs::create_dir_all(&work)?;
    let debian = image_root::archive(release.date, release.quick)?;
    let own = work.join("own.tar");
    std::fs::write(&own, files(release, bill)?.tar(release.date)?)?;
    let mut layers = vec![
        layer(&debian, &work.join("debian"), release.quick)?,
        layer(&own, &work.join("prowess"), release.quick)?,
    ];
    write_image("slim", release, &layers, out)?;
    if let Some(runtime) = runtime {
        let archive = work.join("runtime.tar");
        image_runtime::write(runtime, release.date, &archive)?;
        layers.push(layer(&archive, &work.join("runtime"), release.quick)?);
        write_image("full", release, &layers, out)?;
    }
    for name in COMPANIONS {
        let content = read(&format!("{SOURCES}/{name}"))?;
        std::fs::write(out.join(name), content).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Writes an image of these layers.
fn write_image(tag: &str, release: &Release, layers: &[Blob], out: &Path) -> anyhow::Result<()> {
    let work = release.work_folder().join("image");
    let config = blob(
        &work.join(format!("{tag}-config")),
        "application/vnd.oci.image.config.v1+json",
        &config(release, layers)?,
    )?;
    let manifest = blob(
        &work.join(format!("{tag}-manifest")),
        "application/vnd.oci.image.manifest.v1+json",
        &json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config.reference(),
            "layers": layers.iter().map(Blob::reference).collect::<Vec<_>>(),
        }),
    )?;
    let version = release.version;
    let archive = out.join(format!("prowess-{version}-{tag}-image.tar"));
    let tags = [format!("prowess:{tag}"), format!("prowess:{version}-{tag}")];
    write_archive(&archive, release.date, &tags, layers, &config, &manifest)
        .with_context(|| format!("cannot write {}", archive.display()))
}

/// What the image has beyond Debian.
fn files(release: &Release, bill: &str) -> anyhow::Result<FileTree> {
    let source = |name: &str| read(&format!("{SOURCES}/{name}"));
    let mut files = FileTree::default();
    files.add_program("usr/bin/prowess", release.read_binary()?);
    files.add_program("usr/libexec/prowess/entrypoint", source("entrypoint")?);
    files.add("etc/prowess/prowess.toml", source("prowess.toml")?);
    let documentation = |name: &str| format!("usr/share/doc/prowess/{name}");
    files.add(documentation("copyright"), read("packaging/deb/copyright")?);
    files.add(documentation("prowess.cdx.json.gz"), gzip(bill.as_bytes())?);
    Ok(files)
}

/// How a container of the image is started.
fn config(release: &Release, layers: &[Blob]) -> anyhow::Result<Value> {
    let created = created(release.date)?;
    let diff_ids = layers
        .iter()
        .map(|layer| format!("sha256:{}", layer.content_digest));
    let history = layers
        .iter()
        .map(|_| json!({ "created": created, "created_by": "cargo xtask dist" }));
    Ok(json!({
        "architecture": release.platform.debian_architecture(),
        "os": "linux",
        "created": created,
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG=C.UTF-8",
                "HOME=/var/lib/prowess",
                "PROWESS_CONFIG=/etc/prowess/prowess.toml",
                "PROWESS_DATA_DIR=/var/lib/prowess",
            ],
            "Entrypoint": ["/usr/libexec/prowess/entrypoint"],
            "Cmd": ["serve"],
            "ExposedPorts": { "4141/tcp": {} },
            // Commands that write to the current folder can be run by any user.
            "WorkingDir": "/tmp",
            "Labels": {
                "org.opencontainers.image.title": "prowess",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.source": "https://github.com/prowess-dev/prowess",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": diff_ids.collect::<Vec<_>>() },
        "history": history.collect::<Vec<_>>(),
    }))
}

fn created(date: u64) -> anyhow::Result<String> {
    let date = format!("--date=@{date}");
    let shown = command("date", &["--utc", &date, "+%Y-%m-%dT%H:%M:%SZ"]).output()?;
    anyhow::ensure!(shown.status.success(), "`date` does not accept {date}");
    Ok(String::from_utf8(shown.stdout)?.trim().to_owned())
}

/// A layer of the files in an archive, compressed unless it is for tests.
fn layer(archive: &Path, place: &Path, for_tests: bool) -> anyhow::Result<Blob> {
    let content_digest = file_digest(archive)?;
    if for_tests {
        return finished_blob(
            archive,
            "application/vnd.oci.image.layer.v1.tar",
            content_digest,
        );
    }
    let output = BufWriter::new(File::create(place)?);
    let mut encoder = GzBuilder::new().write(output, Compression::default());
    io::copy(&mut BufReader::new(File::open(archive)?), &mut encoder)?;
    encoder.finish()?.flush()?;
    let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
    finished_blob(place, media_type, content_digest)
}

fn blob(place: &Path, media_type: &'static str, content: &Value) -> anyhow::Result<Blob> {
    std::fs::write(place, serde_json::to_vec(content)?)?;
    finished_blob(place, media_type, String::new())
}

fn finished_blob(
    place: &Path,
    media_type: &'static str,
    content_digest: String,
) -> anyhow::Result<Blob> {
    Ok(Blob {
        media_type,
        place: place.to_owned(),
        digest: file_digest(place)?,
        size: std::fs::metadata(place)?.len(),
        content_digest,
    })
}

/// The layout of OCI images, and the older `manifest.json` of Docker over the same blobs.
fn write_archive(
    place: &Path,
    date: u64,
    tags: &[String],
    layers: &[Blob],
    config: &Blob,
    manifest: &Blob,
) -> anyhow::Result<()> {
    let entries = tags.iter().map(|name| {
        let tag = name.rsplit_once(':').map_or(name.as_str(), |(_, tag)| tag);
        let annotations = json!({
            "io.containerd.image.name": format!("docker.io/library/{name}"),
            "org.opencontainers.image.ref.name": tag,
        });
        let mut entry = manifest.reference();
        entry.insert("annotations".to_owned(), annotations);
        entry
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": entries.collect::<Vec<_>>(),
    });
    let older = json!([{
        "Config": config.path(),
        "RepoTags": tags,
        "Layers": layers.iter().map(Blob::path).collect::<Vec<_>>(),
    }]);
    let mut archive = tar::Builder::new(BufWriter::new(File::create(place)?));
    let header = |size: u64| {
        let mut header = tar::Header::new_ustar();
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(date);
        header.set_uid(0);
        header.set_gid(0);
        header
    };
    let texts = [
        ("oci-layout", json!({ "imageLayoutVersion": "1.0.0" })),
        ("index.json", index),
        ("manifest.json", older),
    ];
    for (name, text) in texts {
        let text = serde_json::to_vec(&text)?;
        let mut header = header(u64::try_from(text.len())?);
        archive.append_data(&mut header, name, text.as_slice())?;
    }
    for blob in layers.iter().chain([config, manifest]) {
        let file = BufReader::new(File::open(&blob.place)?);
        archive.append_data(&mut header(blob.size), blob.path(), file)?;
    }
    archive.into_inner()?.flush()?;
    Ok(())
}
