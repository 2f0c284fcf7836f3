//! One tenant's active requests leave capacity for others.

use std::net::SocketAddr;

use prowess_server::{ServeOptions, ServerSettings, serve};
use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::bodies::{MESSAGES_STREAM, question};
use crate::gateway::Gateway;

/// Tenants besides the slow one.
const OTHERS: usize = 8;

/// Requests a stream; returns the status, and the connection to read the rest.
async fn ask(address: SocketAddr, key: &str) -> (String, TcpStream) {
    let body = question(ClientDialect::Messages, "ant/m1", true).to_string();
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    (String::from_utf8_lossy(&status[9..]).into_owned(), stream)
}

#[tokio::test]
async fn a_tenant_cannot_have_every_request_under_way() {
    let gateway = Gateway::with(ServerSettings {
        requests_per_tenant: 2,
        ..ServerSettings::default()
    })
    .await;
    let none = KeyLimits::default();
    let slow = gateway.key("slow", KeyScope::Use, &none).await;
    let same = gateway.key("slow", KeyScope::Use, &none).await;
    // Two tenants may share a counter by chance; several others hardly all do.
    let mut others = Vec::new();
    for number in 0..OTHERS {
        let tenant = format!("other-{number}");
        others.push(gateway.key(&tenant, KeyScope::Use, &none).await);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, options) = (CancellationToken::new(), ServeOptions::default());
    tokio::spawn(serve(listener, gateway.app.clone(), stop, options));
    gateway
        .upstream
        .respond_always(MockResponse::sse(MESSAGES_STREAM).then_hang());
    let (first, connection) = ask(address, &slow).await;
    let (second, _connection) = ask(address, &slow).await;
    assert_eq!((first.as_str(), second.as_str()), ("200", "200"));
    // Another key of the same tenant does not help; another tenant is not affected.
    let (third, mut refused) = ask(address, &same).await;
    assert_eq!(third, "429");
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains("tenant-requests-busy") {
        assert_ne!(refused.read_buf(&mut received).await.unwrap(), 0);
    }
    assert!(String::from_utf8_lossy(&received).contains("retry-after: 1\r\n"));
    let mut answered = 0;
    for other in &others {
        answered += usize::from(ask(address, other).await.0 == "200");
    }
    assert!(answered > OTHERS / 2, "{answered} of {OTHERS}");
    // The end of a response releases its slot.
    drop(connection);
    while ask(address, &slow).await.0 == "429" {
        tokio::task::yield_now().await;
    }
}
