//! Package layers, from an index that this test serves.

use crate::support::{OWNER, TestSandbox};
use prowess_sandbox::egress::{BoxFuture, Dial};
use prowess_sandbox::{
    Command, ContainerSpec, Execution, PackageIndex, Requirements, SkillFile, SkillFiles,
};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpStream;

/// Builds a wheel of one module.
const MAKE_WHEEL: &str = "import zipfile
info = 'tiny-1.0.dist-info'
files = {
    'tiny.py': 'def answer(): return 42',
    f'{info}/METADATA': 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n',
    f'{info}/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
}
record = ''.join(f'{name},,\\n' for name in [*files, f'{info}/RECORD'])
with zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in {**files, f'{info}/RECORD': record}.items():
        wheel.writestr(name, text)";

#[derive(Debug)]
struct Index(SocketAddr);

impl Dial for Index {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        assert_eq!(host, "index.test");
        // An operator's index may be internal.
        Box::pin(async { Ok(vec!["10.1.2.3".parse().unwrap()]) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

/// Serves one package and counts the requests.
fn serve(listener: TcpListener, wheel: Vec<u8>, requests: Arc<AtomicUsize>) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            requests.fetch_add(1, Ordering::Relaxed);
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let path = first.split(' ').nth(1).unwrap();
            let (status, kind, body) = match path {
                "/simple/tiny/" => (
                    "200 OK",
                    "text/html",
                    b"<a href='/tiny-1.0-py3-none-any.whl'>tiny-1.0-py3-none-any.whl</a>".to_vec(),
                ),
                "/tiny-1.0-py3-none-any.whl" => ("200 OK", "application/zip", wheel.clone()),
                _ => ("404 Not Found", "text/plain", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
        }
    });
}

fn skill(script: &str) -> SkillFiles {
    SkillFiles {
        name: "uses-tiny".into(),
        digest: "digest".into(),
        files: vec![SkillFile {
            path: "scripts/x.py".into(),
            bytes: script.as_bytes().to_vec().into(),
            executable: false,
        }],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requirements_become_a_layer_built_once_and_used_without_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let one = TestSandbox::open(|settings| {
        settings.dial = Arc::new(Index(address));
        settings.packages = Some(PackageIndex {
            url: "http://index.test/simple/".into(),
            hosts: vec!["index.test".parse().unwrap()],
            allow_source: false,
        });
    })
    .await;
    let python = |code: &str| Execution {
        command: Command::Python(code.into()),
        ..Execution::default()
    };
    let has_pip = one.exec(python("import pip")).await.unwrap();
    assert_eq!(
        has_pip.outcome.exit_code(),
        0,
        "this test needs pip in the host's python3 (Debian: python3-pip)"
    );
    one.exec(python(MAKE_WHEEL)).await.unwrap();
    let mut wheel = Vec::new();
    let made = one
        .sandbox
        .get(OWNER, &one.container, "tiny-1.0-py3-none-any.whl")
        .await;
    made.unwrap().read_to_end(&mut wheel).unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    serve(listener, wheel, Arc::clone(&requests));

    let requirements = Requirements::parse("tiny>=1.0  # small").unwrap();
    let layer = one.sandbox.layer(OWNER, &requirements).await.unwrap();
    let request_count = requests.load(Ordering::Relaxed);
    assert!(request_count > 0);
    assert_eq!(
        one.sandbox.layer(OWNER, &requirements).await.unwrap(),
        layer
    );
    assert_eq!(
        requests.load(Ordering::Relaxed),
        request_count,
        "it is built once"
    );

    // A skill whose script names the same package gets the same layer.
    let skill = skill(
        "# /// script\n# dependencies = ['tiny>=1.0']\n# ///\nimport tiny; print(tiny.answer())\n",
    );
    let needed = Requirements::from_skill(&skill).unwrap().unwrap();
    assert_eq!(one.sandbox.layer(OWNER, &needed).await.unwrap(), layer);
    assert_eq!(
        requests.load(Ordering::Relaxed),
        request_count,
        "it is shared"
    );

    let new = ContainerSpec {
        layer: Some(layer),
        skills: vec![skill],
        ..ContainerSpec::default()
    };
    let id = one.sandbox.create(OWNER, new).await.unwrap();
    let script = Command::Argv(
        ["python3", "/skills/uses-tiny/scripts/x.py"]
            .map(String::from)
            .into(),
    );
    let report = one.sandbox.exec(
        OWNER,
        &id,
        Execution {
            command: script,
            ..Execution::default()
        },
    );
    assert_eq!(report.await.unwrap().stdout.text, "42\n");
    let use_it = "import tiny, os
print(tiny.answer(), tiny.__file__, 'http_proxy' in os.environ)
assert os.path.exists(tiny.__cached__), 'compiled once, for all'
open(tiny.__cached__, 'rb').read()[4] == 1 or print('depends on a time')
open('/packages/python/evil.py', 'w')";
    let report = one.sandbox.exec(OWNER, &id, python(use_it)).await.unwrap();
    assert_eq!(report.stdout.text, "42 /packages/python/tiny.py False\n");
    assert!(
        report.stderr.text.contains("Read-only file system")
            || report.stderr.text.contains("Permission denied"),
        "{}",
        report.stderr.text
    );

    let missing = Requirements::parse("no-such-package").unwrap();
    assert_eq!(
        one.sandbox.layer(OWNER, &missing).await.unwrap_err().code(),
        "layer"
    );
    assert_eq!(
        one.sandbox.containers().len(),
        2,
        "builds leave no container behind"
    );
}

#[tokio::test]
async fn without_an_index_there_are_no_layers() {
    let one = TestSandbox::open(|_| {}).await;
    let refused = one
        .sandbox
        .layer(OWNER, &Requirements::parse("tiny").unwrap())
        .await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the package layer could not be built: no package index is set"
    );
}
