//! A real Chromium, driven by WebDriver over HTTP. Knows no page of ours.
//!
//! The driver waits for elements itself, so nothing here sleeps.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the browser waits for an element or a script.
const PATIENCE_MS: u64 = 20_000;

/// The key under which WebDriver has the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// One browser; it ends when this is dropped.
pub(crate) struct Driver {
    child: Child,
    port: u16,
    session: String,
    http: Client,
    _folder: TempDir,
}

/// An element of the current page.
#[derive(Debug, Clone)]
pub(crate) struct Element(String);

/// What WebDriver answers when something is not as asked.
#[derive(Debug)]
pub(crate) struct DriverError(pub(crate) String);

/// Programs and libraries: unpacked below `target/`, or installed.
fn browser_root() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let unpacked = target.join("chromium");
    if unpacked.join("unpacked.txt").exists() {
        return unpacked;
    }
    assert!(
        Path::new("/usr/bin/chromedriver").exists(),
        "there is no browser: run `cargo xtask test console` once, which unpacks one"
    );
    PathBuf::from("/")
}

/// Folders of unpacked libraries, in the form of `LD_LIBRARY_PATH`.
fn library_path(root: &Path) -> String {
    let folders = ["usr/lib", "lib"].map(|name| root.join(name));
    let entries = folders.iter().filter_map(|name| name.read_dir().ok());
    let found = entries.flatten().flatten().map(|entry| entry.path());
    let found = found.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    found
        .flat_map(|path| [path.join("pulseaudio"), path])
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(":")
}

impl Driver {
    /// Starts a browser that keeps its files in a folder of its own.
    pub(crate) async fn start() -> Driver {
        let folder = tempfile::tempdir().unwrap();
        let root = browser_root();
        let mut command = Command::new(root.join("usr/bin/chromedriver"));
        command
            .arg("--port=0")
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if root != Path::new("/") {
            command.env("LD_LIBRARY_PATH", library_path(&root));
        }
        if root.join("etc/fonts").exists() && root != Path::new("/") {
            command.env("FONTCONFIG_SYSROOT", &root);
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, port)) = line.split_once("successfully on port ") {
                break port.trim_end_matches('.').parse().unwrap();
            }
        };
        // Its later output must not fill the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let mut driver = Driver {
            child,
            port,
            session: String::new(),
            http: Client::builder().no_proxy().build().unwrap(),
            _folder: folder,
        };
        let browser = match root.join("usr/lib/chromium/chromium") {
            path if path.exists() => path,
            _ => PathBuf::from("/usr/bin/chromium"),
        };
        let made = driver.call(Method::POST, "", capabilities(&browser)).await;
        driver.session = made.unwrap()["sessionId"].as_str().unwrap().to_owned();
        driver
    }

    /// A request of this session.
    async fn call(&self, method: Method, path: &str, body: Value) -> Result<Value, DriverError> {
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!("/{session}"),
        };
        let url = format!("http://127.0.0.1:{}/session{session}{path}", self.port);
        let request = self.http.request(method.clone(), url);
        let request = match method {
            Method::POST => request.body(body.to_string()),
            _ => request,
        };
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        match answer["value"]["error"].as_str() {
            Some(error) => {
                let message = answer["value"]["message"].as_str().unwrap_or_default();
                Err(DriverError(format!("{error}: {message}")))
            }
            None => Ok(answer["value"].clone()),
        }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, DriverError> {
        self.call(Method::POST, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, Value::Null).await.unwrap()
    }

    /// A command of the browser's own protocol.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.post("/goog/cdp/execute", body).await.unwrap()
    }

    /// Runs a program in the page; its last argument is the function that ends it.
    pub(crate) async fn script(&self, program: &str, arguments: Value) -> Value {
        let body = json!({"script": program, "args": arguments});
        let ran = self.post("/execute/async", body).await;
        ran.unwrap_or_else(|error| panic!("{}\n{:.300}", error.0, program))
    }

    /// The first element that fits, as soon as there is one.
    pub(crate) async fn find(&self, xpath: &str) -> Result<Element, DriverError> {
        let body = json!({"using": "xpath", "value": xpath});
        let found = self.post("/element", body).await?;
        Ok(Element(found[ELEMENT].as_str().unwrap().to_owned()))
    }

    pub(crate) async fn click(&self, element: &Element) -> Result<(), DriverError> {
        let path = format!("/element/{}/click", element.0);
        self.post(&path, json!({})).await.map(drop)
    }

    pub(crate) async fn clear(&self, element: &Element) {
        let path = format!("/element/{}/clear", element.0);
        self.post(&path, json!({})).await.unwrap();
    }

    /// Types into an element; into a file field, the path of a file.
    pub(crate) async fn type_into(&self, element: &Element, text: &str) {
        let path = format!("/element/{}/value", element.0);
        self.post(&path, json!({"text": text})).await.unwrap();
    }

    pub(crate) async fn text_of(&self, element: &Element) -> String {
        let text = self.get(&format!("/element/{}/text", element.0)).await;
        text.as_str().unwrap().to_owned()
    }

    /// A property of an element, such as the value of a field.
    pub(crate) async fn property(&self, element: &Element, name: &str) -> String {
        let path = format!("/element/{}/property/{name}", element.0);
        self.get(&path)
            .await
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Types keys at the page, one after the other.
    pub(crate) async fn keys(&self, keys: &str) {
        let actions = keys.chars().flat_map(|key| {
            let key = key.to_string();
            [
                json!({"type": "keyDown", "value": key}),
                json!({"type": "keyUp", "value": key}),
            ]
        });
        let actions: Vec<Value> = actions.collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        let sent = self.post("/actions", json!({"actions": [keyboard]})).await;
        sent.unwrap();
    }

    /// Lines of a log since the last call: `browser` or `performance`.
    pub(crate) async fn log(&self, kind: &str) -> Vec<Value> {
        let lines = self.post("/se/log", json!({"type": kind})).await.unwrap();
        lines.as_array().unwrap().clone()
    }
}

fn capabilities(browser: &Path) -> Value {
    // As root, Chromium refuses its own sandbox; the pages are those of the tests.
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--no-proxy-server",
        "--window-size=1280,900",
        "--force-device-scale-factor=1",
        "--hide-scrollbars",
    ];
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "timeouts": {"implicit": PATIENCE_MS, "script": PATIENCE_MS, "pageLoad": PATIENCE_MS},
        "unhandledPromptBehavior": "ignore",
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "goog:chromeOptions": {"binary": browser, "args": arguments},
    }}})
}

impl Drop for Driver {
    /// The driver ends its browser when the session ends, and not when it is killed.
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let session = &self.session;
            let request = format!(
                "DELETE /session/{session} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(request.as_bytes());
            // It answers when the browser has ended, and leaves the connection open.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let _ = stream.read(&mut [0; 16]);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
