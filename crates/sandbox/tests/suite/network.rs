//! Network access from inside: through the proxy to allowed domains only.

use crate::support::{OWNER, TestSandbox};
use prowess_sandbox::egress::{BoxFuture, Dial};
use prowess_sandbox::{
    Command, EgressSecret, Execution, ExecutionReport, Network, Policy, Verdict,
};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::net::TcpStream;

/// A network with three names, in which every public address is one local server.
#[derive(Debug)]
struct World(SocketAddr);

impl Dial for World {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let address = match host {
                "good.test" => "93.184.216.34",
                // A name that is allowed and turns out to be the metadata service.
                "rebound.test" => "169.254.169.254",
                _ => return Err(io::ErrorKind::NotFound.into()),
            };
            Ok(vec![address.parse().unwrap()])
        })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

/// A server that responds with the head of each request.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head) = (stream.unwrap(), Vec::new());
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", head.len());
            stream.write_all(answer.as_bytes()).unwrap();
            stream.write_all(&head).unwrap();
        }
    });
    address
}

async fn run(program: &str) -> ExecutionReport {
    let address = echo();
    let one = TestSandbox::open(|settings| settings.dial = Arc::new(World(address))).await;
    let domains = ["good.test", "rebound.test", "gone.test"].map(|name| name.parse().unwrap());
    let policy = Policy {
        network: Network::Allow(domains.into()),
        ..Policy::default()
    };
    let id = one.sandbox.create(OWNER, policy.into()).await.unwrap();
    let secret = EgressSecret {
        stand_in: "KEY-STAND-IN".into(),
        value: "real-key".into(),
        domain: "good.test".parse().unwrap(),
    };
    let execution = Execution {
        command: Command::Python(program.into()),
        secrets: vec![secret],
        ..Execution::default()
    };
    one.sandbox.exec(OWNER, &id, execution).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_domain_is_reached_and_gets_the_secret() {
    let report = run("import urllib.request
request = urllib.request.Request('http://good.test/path', headers={'Authorization': 'Bearer KEY-STAND-IN'})
print(urllib.request.urlopen(request).read().decode())")
    .await;
    let seen = &report.stdout.text;
    assert!(
        seen.starts_with("GET /path HTTP/1.1"),
        "{seen} {}",
        report.stderr.text
    );
    assert!(seen.contains("authorization: Bearer real-key"), "{seen}");
    assert_eq!(report.connections[0].verdict, Verdict::Allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_else_is_refused_and_reported() {
    let report = run("import socket, urllib.request, urllib.error
for url in ('http://evil.test/', 'http://rebound.test/', 'http://gone.test/', 'http://169.254.169.254/latest/meta-data/',
            'http://127.0.0.1:3128/', 'https://evil.test/', 'http://good.test:22/'):
    try:
        urllib.request.urlopen(url)
        print('POSSIBLE', url)
    except OSError as error:
        print(getattr(error, 'code', error))
for address in (('93.184.216.34', 80), ('169.254.169.254', 80), ('10.0.0.1', 80)):
    try:
        socket.create_connection(address, 5)
        print('POSSIBLE', address)
    except OSError: pass")
    .await;
    let seen = &report.stdout.text;
    assert!(!seen.contains("POSSIBLE"), "{seen}");
    let verdicts: Vec<_> = report.connections.iter().map(|one| one.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::NotAllowed,
            Verdict::PrivateAddress,
            Verdict::Unresolved,
            Verdict::NotAllowed,
            Verdict::NotAllowed,
            Verdict::NotAllowed,
            Verdict::Port,
        ],
        "{seen}"
    );
}
