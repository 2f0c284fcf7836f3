//! A package index on loopback: packages that a test describes, built by the host's Python,
//! and a list of requested paths. A path can be blocked until the test releases it.

use prowess_sandbox::egress::{BoxFuture, Dial};
use prowess_sandbox::{PackageIndex, SandboxSettings};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Builds wheels and source packages in memory and prints them, by file name, in hex.
const MAKE: &str = r#"
import io, json, sys, tarfile, zipfile
made = {}
for package in json.load(sys.stdin):
    name, files = package['name'], package['files']
    metadata = f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n' + package.get('metadata', '')
    out = io.BytesIO()
    if package['kind'] == 'wheel':
        info = f'{name}-1.0.dist-info'
        files |= {f'{info}/METADATA': metadata, f'{info}/WHEEL': 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
        files[f'{info}/RECORD'] = ''.join(f'{path},,\n' for path in [*files, f'{info}/RECORD'])
        with zipfile.ZipFile(out, 'w') as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        made[f'{name}-1.0-py3-none-any.whl'] = out.getvalue().hex()
    else:
        files |= {'PKG-INFO': metadata, 'pyproject.toml': '[build-system]\nrequires = ' + json.dumps(package.get('requires', [])) + '\nbuild-backend = "backend"\nbackend-path = ["."]\n'}
        with tarfile.open(fileobj=out, mode='w:gz') as archive:
            for path, text in files.items():
                entry = tarfile.TarInfo(f'{name}-1.0/{path}')
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        made[f'{name}-1.0.tar.gz'] = out.getvalue().hex()
print(json.dumps(made))
"#;

/// A build backend that runs an attack and then builds a wheel of one module.
const BACKEND: &str = r#"
import os, sys, urllib.request, zipfile
def tell(what):
    urllib.request.urlopen('http://index.test/ran/' + what).read()
def attack():
    tell('backend')
@ATTACK@
def prepare_metadata_for_build_wheel(folder, settings=None):
    info = os.path.join(folder, '@NAME@-1.0.dist-info')
    os.mkdir(info)
    open(info + '/METADATA', 'w').write('Metadata-Version: 2.1\nName: @NAME@\nVersion: 1.0\n')
    return '@NAME@-1.0.dist-info'
def build_wheel(folder, settings=None, metadata=None):
    attack()
    info = '@NAME@-1.0.dist-info'
    files = {'@NAME@.py': 'answer = 42\n', info + '/METADATA': 'Metadata-Version: 2.1\nName: @NAME@\nVersion: 1.0\n',
        info + '/WHEEL': 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    files[info + '/RECORD'] = ''.join(f'{path},,\n' for path in [*files, info + '/RECORD'])
    with zipfile.ZipFile(os.path.join(folder, '@NAME@-1.0-py3-none-any.whl'), 'w') as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return '@NAME@-1.0-py3-none-any.whl'
"#;

/// A wheel of one module, with further lines of metadata.
pub(crate) fn wheel(name: &str, metadata: &str) -> Value {
    let files = json!({ format!("{name}.py"): "answer = 42\n" });
    json!({ "kind": "wheel", "name": name, "metadata": metadata, "files": files })
}

/// A source package whose backend runs an attack, in Python, before it builds.
pub(crate) fn source(name: &str, attack: &str) -> Value {
    let attack: String = attack
        .trim()
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect();
    let backend = BACKEND.replace("@ATTACK@", &attack).replace("@NAME@", name);
    json!({ "kind": "source", "name": name, "files": { "backend.py": backend } })
}

/// Connects to the index, whatever is requested.
#[derive(Debug)]
struct OneAddress(SocketAddr);

impl Dial for OneAddress {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![self.0.ip()]) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<tokio::net::TcpStream>> {
        Box::pin(tokio::net::TcpStream::connect(self.0))
    }
}

/// The index.
pub(crate) struct IndexServer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    files: HashMap<String, Vec<u8>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: Vec<String>,
    gated: HashSet<String>,
}

impl IndexServer {
    /// Serves these packages. Layers are built with the pip of the host's Python.
    pub(crate) fn serve(packages: &[Value]) -> Self {
        let pip = Command::new("/usr/bin/python3")
            .args(["-I", "-c", "import pip"])
            .stderr(Stdio::null())
            .status();
        assert!(pip.unwrap().success(), "/usr/bin/python3 has no pip");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            files: make(packages),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || shared.answer(stream.unwrap()));
            }
        });
        Self { address, shared }
    }

    /// Makes a sandbox build layers from it.
    pub(crate) fn set_as_index(&self, settings: &mut SandboxSettings) {
        settings.dial = Arc::new(OneAddress(self.address));
        settings.packages = Some(PackageIndex {
            url: "http://index.test/simple/".into(),
            hosts: vec!["index.test".parse().unwrap()],
            allow_source: false,
        });
    }

    /// Blocks requests for this path.
    pub(crate) fn close(&self, path: &str) {
        self.shared.lock().gated.insert(path.into());
    }

    /// Releases them.
    pub(crate) fn open(&self, path: &str) {
        self.shared.lock().gated.remove(path);
        self.shared.changed.notify_all();
    }

    /// Waits until a path was requested. Blocks.
    pub(crate) fn wait_for(&self, path: &str) {
        let mut state = self.shared.lock();
        while !state.requests.iter().any(|request| request == path) {
            state = self.shared.changed.wait(state).unwrap();
        }
    }

    /// Paths requested so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.lock().requests.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let Some(Ok(first)) = lines.next() else {
            return;
        };
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let path = first.split(' ').nth(1).unwrap().to_owned();
        let mut state = self.lock();
        state.requests.push(path.clone());
        self.changed.notify_all();
        while state.gated.contains(&path) {
            state = self.changed.wait(state).unwrap();
        }
        drop(state);
        let (status, body) = self.find(&path);
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        // A killed build does not read its response.
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    }

    fn find(&self, path: &str) -> (&'static str, Vec<u8>) {
        if let Some(name) = path.strip_prefix("/simple/") {
            let prefix = format!("{}-", name.trim_end_matches('/').replace('-', "_"));
            let found = self.files.keys().filter(|file| file.starts_with(&prefix));
            let links: String = found
                .map(|file| format!("<a href='/f/{file}'>{file}</a>\n"))
                .collect();
            return if links.is_empty() {
                ("404 Not Found", Vec::new())
            } else {
                ("200 OK", links.into_bytes())
            };
        }
        if path.starts_with("/ran/") {
            return ("200 OK", Vec::new());
        }
        match path
            .strip_prefix("/f/")
            .and_then(|file| self.files.get(file))
        {
            Some(body) => ("200 OK", body.clone()),
            None => ("404 Not Found", Vec::new()),
        }
    }
}

fn make(packages: &[Value]) -> HashMap<String, Vec<u8>> {
    let mut python = Command::new("/usr/bin/python3")
        .args(["-I", "-c", MAKE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = json!(packages).to_string();
    python
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let made = python.wait_with_output().unwrap().stdout;
    let made: HashMap<String, String> = serde_json::from_slice(&made).unwrap();
    let bytes = |hex: &str| -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    made.into_iter()
        .map(|(name, hex)| (name, bytes(&hex)))
        .collect()
}
