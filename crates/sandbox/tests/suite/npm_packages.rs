//! npm packages of layers, from a registry that this test serves.

use crate::support::{OWNER, TestSandbox};
use prowess_sandbox::egress::{BoxFuture, Dial};
use prowess_sandbox::{
    Command, ContainerSpec, Execution, NpmRegistry, Requirements, SkillFile, SkillFiles,
};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::net::TcpStream;

/// Makes an archive of one module whose install script would leave a file, and prints it and
/// its digest.
const MAKE_PACKAGE: &str = r#"
import base64, hashlib, io, json, tarfile
files = {
    'package/package.json': json.dumps({'name': 'tiny', 'version': '1.0.0', 'main': 'index.js',
        'scripts': {'install': 'touch installed-by-script', 'postinstall': 'touch installed-by-script'}}),
    'package/index.js': 'module.exports = 42;',
}
out = io.BytesIO()
with tarfile.open(fileobj=out, mode='w:gz') as archive:
    for path, text in files.items():
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = len(text), 0o644
        archive.addfile(entry, io.BytesIO(text.encode()))
    # Leads out of the package.
    link = tarfile.TarInfo('package/link')
    link.type, link.linkname = tarfile.SYMTYPE, '../../../../../etc/passwd'
    archive.addfile(link)
data = out.getvalue()
print(json.dumps({'hex': data.hex(), 'integrity': 'sha512-' + base64.b64encode(hashlib.sha512(data).digest()).decode()}))
"#;

#[derive(Debug)]
struct Registry(SocketAddr);

impl Dial for Registry {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        assert_eq!(host, "npm.test");
        Box::pin(async { Ok(vec!["10.1.2.3".parse().unwrap()]) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

fn serve(listener: TcpListener, archive: Vec<u8>, integrity: &str) {
    let about = json!({
        "name": "tiny",
        "dist-tags": { "latest": "1.0.0" },
        "versions": { "1.0.0": {
            "name": "tiny", "version": "1.0.0", "main": "index.js", "hasInstallScript": true,
            "dist": { "tarball": "http://npm.test/tiny/-/tiny-1.0.0.tgz", "integrity": integrity },
        } },
    });
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let (status, kind, body) = match first.split(' ').nth(1).unwrap() {
                "/tiny" => ("200 OK", "application/json", about.to_string().into_bytes()),
                "/tiny/-/tiny-1.0.0.tgz" => ("200 OK", "application/octet-stream", archive.clone()),
                _ => ("404 Not Found", "text/plain", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
        }
    });
}

fn skill(files: &[(&str, String)]) -> SkillFiles {
    let file = |(path, text): &(&str, String)| SkillFile {
        path: (*path).into(),
        bytes: text.clone().into_bytes().into(),
        executable: false,
    };
    SkillFiles {
        name: "uses-tiny".into(),
        digest: "digest".into(),
        files: files.iter().map(file).collect(),
    }
}

fn needed(files: &[(&str, String)]) -> Requirements {
    Requirements::from_skill(&skill(files)).unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_packages_become_a_layer_and_none_of_their_scripts_run() {
    let made = std::process::Command::new("/usr/bin/python3")
        .args(["-c", MAKE_PACKAGE])
        .output();
    let made: Value = serde_json::from_slice(&made.unwrap().stdout).unwrap();
    let hex = made["hex"].as_str().unwrap();
    let bytes = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).unwrap();
        u8::from_str_radix(pair, 16).unwrap()
    });
    let integrity = made["integrity"].as_str().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    serve(listener, bytes.collect(), integrity);
    let one = TestSandbox::open(|settings| {
        settings.dial = Arc::new(Registry(address));
        settings.npm_registry = Some(NpmRegistry {
            url: "http://npm.test/".into(),
            hosts: vec!["npm.test".parse().unwrap()],
        });
    })
    .await;

    let manifest = (
        "package.json",
        json!({ "dependencies": { "tiny": "^1.0.0" } }).to_string(),
    );
    let lock = |integrity: &str| {
        let package = json!({ "version": "1.0.0", "integrity": integrity });
        let packages = json!({ "node_modules/tiny": package });
        let lock = json!({ "lockfileVersion": 3, "packages": packages });
        ("package-lock.json", lock.to_string())
    };
    let free = needed(std::slice::from_ref(&manifest));
    let locked = needed(&[manifest.clone(), lock(integrity)]);
    for requirements in [free, locked] {
        let layer = one.sandbox.layer(OWNER, &requirements).await.unwrap();
        assert_eq!(
            one.sandbox.layer(OWNER, &requirements).await.unwrap(),
            layer
        );
        let container = ContainerSpec {
            layer: Some(layer),
            ..ContainerSpec::default()
        };
        let id = one.sandbox.create(OWNER, container).await.unwrap();
        let line = "node -e \"console.log(require('tiny'))\"; \
                    ls /packages/python/node_modules/tiny; touch /packages/python/x";
        let execution = Execution {
            command: Command::Argv(["sh", "-c", line].map(String::from).into()),
            ..Execution::default()
        };
        let report = one.sandbox.exec(OWNER, &id, execution).await.unwrap();
        assert_eq!(
            report.stdout.text, "42\nindex.js\npackage.json\n",
            "{}",
            report.stderr.text
        );
        assert!(
            report.stderr.text.contains("Read-only"),
            "{}",
            report.stderr.text
        );
    }

    let other = lock(
        "sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
    );
    let changed = needed(&[manifest, other]);
    let refused = one.sandbox.layer(OWNER, &changed).await.unwrap_err();
    assert!(refused.to_string().contains("EINTEGRITY"), "{refused}");
}

#[tokio::test]
async fn without_a_registry_npm_packages_are_left_out_with_a_remark() {
    let one = TestSandbox::open(|_| {}).await;
    let manifest = json!({ "dependencies": { "tiny": "^1.0.0" } }).to_string();
    let asking = needed(&[("package.json", manifest)]);
    let refused = one.sandbox.layer(OWNER, &asking).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the package layer could not be built: no npm registry is set"
    );
}
