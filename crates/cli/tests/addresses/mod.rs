//! Addresses and keys as people give them to the verbs that talk to a server: with the line end
//! of a file, behind a proxy, or of something that is not Prowess.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::server::{MASTER, TestServer, prowess};
use crate::{CommandOutput, command};

const LIST: [&str; 4] = ["skill", "list", "--server", "--json"];

#[test]
fn a_key_may_end_with_the_line_of_its_file_and_nothing_else_may_follow() {
    let server = TestServer::start(&[]);
    let with = |name: &str, value: &str| {
        let mut list = command(&server, &LIST);
        CommandOutput::from_output(&list.env(name, value).output().unwrap())
    };
    let listed = with("PROWESS_API_KEY", &format!("{MASTER}\n"));
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let two_lines = with("PROWESS_API_KEY", &format!("{MASTER}\nmore"));
    assert_eq!(two_lines.code, 3);
    assert!(
        two_lines.stderr.contains("the API key has a line end"),
        "{}",
        two_lines.stderr
    );
    let none = with("PROWESS_API_KEY", "");
    assert!(none.stderr.contains("key-missing"), "{}", none.stderr);
}

#[test]
fn a_server_of_this_machine_is_called_without_a_proxy() {
    let server = TestServer::start(&[]);
    let mut list = command(&server, &LIST);
    for name in ["NO_PROXY", "no_proxy"] {
        list.env_remove(name);
    }
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        list.env(name, "http://127.0.0.1:9");
    }
    let listed = CommandOutput::from_output(&list.output().unwrap());
    assert_eq!(listed.code, 0, "{}", listed.stderr);
}

#[test]
fn what_answers_in_place_of_a_server_is_named() {
    let moved = "HTTP/1.1 301 Moved\r\ncontent-length: 0\r\n\
                 location: https://skills.example/openai/v1/skills?limit=100\r\n\r\n";
    let page =
        "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\n<p>no";
    let expected = [
        (
            moved,
            "redirects to https://skills.example/openai/v1/skills; name the address",
        ),
        (page, "may be of another program than Prowess (404, -, -)"),
    ];
    for (response, message) in expected {
        let folder = tempfile::tempdir().unwrap();
        let mut list = prowess(folder.path());
        let list = list.args(LIST).env("PROWESS_URL", respond_once(response));
        let failed = CommandOutput::from_output(&list.output().unwrap());
        assert_eq!(failed.code, 3, "{}", failed.stdout);
        assert!(failed.stderr.contains(message), "{}", failed.stderr);
    }
}

#[test]
fn an_address_may_follow_its_option_and_needs_its_scheme() {
    let server = TestServer::start(&[]);
    let list = |address: &str| {
        let mut list = command(&server, &["skill", "list", "--server", address, "--json"]);
        // Called if the argument were not read.
        list.env("PROWESS_URL", "http://127.0.0.1:9");
        CommandOutput::from_output(&list.output().unwrap())
    };
    let skills = list(server.url()).json();
    assert_eq!(skills["skills"], serde_json::json!([]));
    let (_, address) = server.url().split_once("://").unwrap();
    for bare in [address, "localhost:4141"] {
        let failed = list(bare);
        assert_ne!(failed.code, 0, "{}", failed.stdout);
        let expected = format!("`{bare}` is not the URL of a server; write it with its scheme");
        assert!(failed.stderr.contains(&expected), "{}", failed.stderr);
    }
}

#[test]
fn a_server_whose_port_is_taken_names_the_option_for_another() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut serve = prowess(folder.path());
    let failed = serve
        .args(["serve", "--listen", &address])
        .output()
        .unwrap();
    let failed = CommandOutput::from_output(&failed);
    assert_ne!(failed.code, 0, "{}", failed.stderr);
    let reason = format!("cannot listen on {address}: ");
    for expected in [reason.as_str(), "choose another with --listen"] {
        assert!(failed.stderr.contains(expected), "{}", failed.stderr);
    }
}

/// The address of something that responds to one request.
fn respond_once(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        // An empty line ends the head of the request, which has no body.
        let head = lines.map_while(Result::ok);
        head.take_while(|line| !line.is_empty()).for_each(drop);
        stream.write_all(response.as_bytes()).unwrap();
    });
    format!("http://{address}")
}
