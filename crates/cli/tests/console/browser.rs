//! A browser at the console, and what a person does with it: opens pages, presses buttons by
//! their names, fills fields by their labels. It also remembers everything that must never
//! happen: errors in its console, violations of the content security policy, requests to other
//! servers, and code of others that ran.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::driver::{Driver, Element};

/// Set by any code of others that runs; the error goes to the browser's log, which outlives
/// the page.
const CANARY: &str = "Object.defineProperty(window, 'canary', {
    set(value) { console.error('CANARY ' + value); },
});
addEventListener('securitypolicyviolation', (event) => {
    console.error('VIOLATION ' + event.violatedDirective + ' ' + event.blockedURI);
});";

/// A browser at one server.
pub(crate) struct Browser {
    pub(crate) driver: Driver,
    server: String,
}

/// The colours that the visitor's system asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        }
    }
}

impl Browser {
    pub(crate) async fn start(server: &str) -> Browser {
        let driver = Driver::start().await;
        let program = json!({"source": CANARY});
        driver
            .devtools("Page.addScriptToEvaluateOnNewDocument", program)
            .await;
        let browser = Browser {
            driver,
            server: server.to_owned(),
        };
        browser.look(Scheme::Light, 1280).await;
        browser
    }

    /// Sets colours and width; without animations, whose colours are between two.
    pub(crate) async fn look(&self, scheme: Scheme, width: u32) {
        let features = json!({"features": [
            {"name": "prefers-color-scheme", "value": scheme.name()},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]});
        self.driver
            .devtools("Emulation.setEmulatedMedia", features)
            .await;
        let size = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false,
        });
        self.driver
            .devtools("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    pub(crate) async fn open(&self, path: &str) {
        let url = format!("{}{path}", self.server);
        self.driver.post("/url", json!({"url": url})).await.unwrap();
    }

    /// The path and query of the current page.
    pub(crate) async fn place(&self) -> String {
        let url = self.driver.get("/url").await;
        let url = url.as_str().unwrap();
        url.strip_prefix(&self.server).unwrap_or(url).to_owned()
    }

    /// Waits for this text in an element of the page, and returns the element.
    pub(crate) async fn see(&self, text: &str) -> Element {
        let quoted = quote(text);
        let xpath = format!(
            "//body//*[not(self::script)][contains(normalize-space(.), {quoted})]\
             [not(*[contains(normalize-space(.), {quoted})])]"
        );
        self.expect(&xpath, text).await
    }

    /// Waits for an element that a CSS class or path names.
    pub(crate) async fn expect(&self, xpath: &str, what: &str) -> Element {
        match self.driver.find(xpath).await {
            Ok(element) => element,
            Err(error) => panic!(
                "no {what:?} at {}: {}\n{}",
                self.place().await,
                error.0,
                self.text().await
            ),
        }
    }

    /// Presses the button, link or summary of this name.
    pub(crate) async fn press(&self, name: &str) {
        let quoted = quote(name);
        let xpath = format!(
            "//*[self::button or self::a or self::summary or @role='button']\
             [normalize-space(.)={quoted} or @aria-label={quoted}]"
        );
        let element = self.expect(&xpath, name).await;
        self.click(&element).await;
    }

    pub(crate) async fn click(&self, element: &Element) {
        let clicked = self.driver.click(element).await;
        clicked.unwrap_or_else(|error| panic!("{}", error.0));
    }

    /// The field of this label.
    pub(crate) async fn field(&self, label: &str) -> Element {
        let label_of = format!("//label[starts-with(normalize-space(.), {})]", quote(label));
        let controls = "self::input or self::select or self::textarea";
        let xpath = format!(
            "//*[{controls}][@id = {label_of}/@for] | {label_of}//*[{controls}] | \
             //*[{controls}][@aria-label={}]",
            quote(label)
        );
        self.expect(&xpath, label).await
    }

    pub(crate) async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        self.driver.clear(&field).await;
        self.driver.type_into(&field, text).await;
    }

    /// What a person reads on the page.
    pub(crate) async fn text(&self) -> String {
        let body = self.driver.find("//body").await;
        let body = body.unwrap_or_else(|error| panic!("{}", error.0));
        self.driver.text_of(&body).await
    }

    /// The value of an expression in the page.
    pub(crate) async fn value(&self, expression: &str) -> Value {
        let program = format!(
            "const done = arguments[arguments.length - 1];\
             Promise.resolve({expression}).then(done);"
        );
        self.driver.script(&program, json!([])).await
    }

    /// Drops files or folders onto the middle of an element.
    pub(crate) async fn drop_files(&self, element: &str, files: &[&std::path::Path]) {
        let place = self
            .value(&format!(
                "(() => {{ const it = document.querySelector({element:?}); \
                 it.scrollIntoView({{block: 'center'}}); const box = it.getBoundingClientRect(); \
                 return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
            ))
            .await;
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1],
                "data": {"items": [], "files": files, "dragOperationsMask": 1},
            });
            self.driver.devtools("Input.dispatchDragEvent", event).await;
        }
    }

    /// A picture of the whole page.
    pub(crate) async fn picture(&self) -> Vec<u8> {
        let size = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.driver.devtools("Page.captureScreenshot", size).await;
        let encoded = picture["data"].as_str().unwrap();
        base64::engine::general_purpose::STANDARD
            .decode(encoded)
            .unwrap()
    }

    /// What happened since the last call and should not have. `expected` are parts of lines
    /// that belong to the test, such as a refused request.
    pub(crate) async fn problems(&self, expected: &[&str]) -> Vec<String> {
        let mut problems = Vec::new();
        for line in self.driver.log("browser").await {
            let text = line["message"].as_str().unwrap_or_default().to_owned();
            let is_expected = expected.iter().any(|part| text.contains(part));
            let is_bad = matches!(line["level"].as_str(), Some("SEVERE" | "WARNING"));
            if is_bad && !is_expected {
                problems.push(text);
            }
        }
        for line in self.driver.log("performance").await {
            let Some(url) = requested_url(&line) else {
                continue;
            };
            let inside = [self.server.as_str(), "data:", "blob:", "about:", "chrome:"];
            if !inside.iter().any(|start| url.starts_with(start)) {
                problems.push(format!("a request to {url}"));
            }
        }
        problems
    }

    /// Fails if anything happened that must not.
    pub(crate) async fn assert_quiet(&self) {
        self.assert_quiet_but(&[]).await;
    }

    pub(crate) async fn assert_quiet_but(&self, expected: &[&str]) {
        let problems = self.problems(expected).await;
        let place = self.place().await;
        assert!(problems.is_empty(), "at {place}: {problems:#?}");
    }
}

/// The address of a request, if the line of the log is one.
fn requested_url(line: &Value) -> Option<String> {
    let message: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
    let message = &message["message"];
    if message["method"].as_str()? != "Network.requestWillBeSent" {
        return None;
    }
    Some(message["params"]["request"]["url"].as_str()?.to_owned())
}

/// A string of XPath, which has no escapes.
fn quote(text: &str) -> String {
    if text.contains('"') {
        format!("'{text}'")
    } else {
        format!("\"{text}\"")
    }
}
