//! The proxy with a fake network.

use super::tunnel::DECODE_ERROR;
use super::*;
use crate::egress::Egress;
use crate::egress::client_hello::tests::{ambiguous, hello};
use crate::egress::dial::BoxFuture;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A network in which every name has the given addresses, and every address is the one
/// local server.
#[derive(Debug)]
pub(super) struct Fake {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) server: SocketAddr,
}

impl Dial for Fake {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(self.addresses.clone()) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.server))
    }
}

struct World {
    proxy: Arc<Proxy>,
    address: SocketAddr,
    server: TcpListener,
}

async fn world(addresses: &[&str]) -> World {
    world_with(addresses, ProxyTimeouts::default()).await
}

async fn world_with(addresses: &[&str], timeouts: ProxyTimeouts) -> World {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let dial = Arc::new(Fake {
        addresses,
        server: server.local_addr().unwrap(),
    });
    let domains = ["good.com", "*.fine.org"]
        .map(|text| text.parse().unwrap())
        .into();
    let secret = EgressSecret {
        stand_in: "STAND-IN".into(),
        value: "s3cret".into(),
        domain: "good.com".parse().unwrap(),
    };
    let egress = Egress {
        dial,
        interceptor: None,
        shares: ConnectionShares::default(),
    };
    let mut proxy = egress
        .command_proxy("owner", domains, vec![secret])
        .unwrap();
    Arc::get_mut(&mut proxy).unwrap().timeouts = timeouts;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Arc::clone(&proxy).serve(listener));
    World {
        proxy,
        address,
        server,
    }
}

impl World {
    /// Sends text to the proxy and returns the first line of its response.
    async fn ask(&self, text: &str) -> String {
        let mut client = TcpStream::connect(self.address).await.unwrap();
        client.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }

    fn verdicts(&self) -> Vec<Verdict> {
        self.proxy
            .connections()
            .into_iter()
            .map(|one| one.verdict)
            .collect()
    }
}

#[tokio::test]
async fn a_request_reaches_its_server_with_the_secret_and_nothing_after_it() {
    let world = world(&["93.184.216.34"]).await;
    let server = async {
        let (mut stream, _) = world.server.accept().await.unwrap();
        let mut seen = vec![0; 4096];
        let mut length = 0;
        while !seen[..length].ends_with(b"abc") {
            length += stream.read(&mut seen[length..]).await.unwrap();
        }
        stream
            .write_all(b"HTTP/1.1 204 Fine\r\n\r\n")
            .await
            .unwrap();
        String::from_utf8(seen[..length].to_vec()).unwrap()
    };
    let request = "POST http://good.com/p HTTP/1.1\r\nauthorization: Bearer STAND-IN\r\ncontent-length: 3\r\n\r\nabcGET http://evil.com/ HTTP/1.1\r\n\r\n";
    let (seen, answer) = tokio::join!(server, world.ask(request));
    assert_eq!(answer, "HTTP/1.1 204 Fine");
    assert_eq!(
        seen,
        "POST /p HTTP/1.1\r\nhost: good.com\r\nconnection: close\r\nauthorization: Bearer s3cret\r\ncontent-length: 3\r\n\r\nabc"
    );
    assert_eq!(world.verdicts(), [Verdict::Allowed]);
}

#[tokio::test]
async fn other_domains_ports_and_nonsense_are_refused() {
    let world = world(&["93.184.216.34"]).await;
    for (request, status) in [
        (
            "GET http://evil.com/ HTTP/1.1\r\n\r\n",
            "HTTP/1.1 403 Forbidden",
        ),
        (
            "CONNECT evil.com:443 HTTP/1.1\r\n\r\n",
            "HTTP/1.1 403 Forbidden",
        ),
        (
            "CONNECT 93.184.216.34:443 HTTP/1.1\r\n\r\n",
            "HTTP/1.1 403 Forbidden",
        ),
        (
            "CONNECT good.com:22 HTTP/1.1\r\n\r\n",
            "HTTP/1.1 403 Forbidden",
        ),
        (
            "GET http://good.com:8080/ HTTP/1.1\r\n\r\n",
            "HTTP/1.1 403 Forbidden",
        ),
        ("what is this\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        (
            "GET http://good.com/\tHTTP/1.1\nHost:evil.com\nX:\t HTTP/1.1\r\nx-key: STAND-IN\r\n\r\n",
            "HTTP/1.1 400 Bad Request",
        ),
        (
            "GET http://good.com/ HTTP/1.1\r\nhost: evil.com\r\nx-key: STAND-IN\r\n\r\n",
            "HTTP/1.1 400 Bad Request",
        ),
    ] {
        assert_eq!(world.ask(request).await, status, "{request}");
    }
}

#[tokio::test]
async fn a_name_that_leads_to_the_metadata_service_or_the_host_is_refused() {
    for addresses in [
        &["169.254.169.254"][..],
        &["127.0.0.1"],
        &["::ffff:10.0.0.1"],
        &["93.184.216.34", "127.0.0.1"],
        &[],
    ] {
        let world = world(addresses).await;
        let status = world.ask("GET http://good.com/ HTTP/1.1\r\n\r\n").await;
        let expected = if addresses.is_empty() {
            "502 Bad Gateway"
        } else {
            "403 Forbidden"
        };
        assert_eq!(status, format!("HTTP/1.1 {expected}"), "{addresses:?}");
    }
}

#[tokio::test]
async fn a_tunnel_carries_tls_for_its_own_name_only() {
    for (name, verdict) in [
        ("a.fine.org", Verdict::Allowed),
        ("evil.com", Verdict::OtherName),
    ] {
        let world = world(&["93.184.216.34"]).await;
        let mut client = TcpStream::connect(world.address).await.unwrap();
        client
            .write_all(b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n")
            .await
            .unwrap();
        let (mut server, _) = world.server.accept().await.unwrap();
        client.write_all(&hello(name)).await.unwrap();
        client.shutdown().await.unwrap();
        if verdict == Verdict::Allowed {
            server.write_all(b"\x16 and so on").await.unwrap();
            server.shutdown().await.unwrap();
        }
        let mut seen = Vec::new();
        server.read_to_end(&mut seen).await.unwrap();
        assert_eq!(
            seen,
            if verdict == Verdict::Allowed {
                hello(name)
            } else {
                Vec::new()
            }
        );
        assert_eq!(world.verdicts(), [verdict]);
    }
}

#[tokio::test]
async fn a_client_hello_that_names_two_servers_or_none_never_leaves() {
    for bytes in ambiguous("a.fine.org", "evil.com") {
        let world = world(&["93.184.216.34"]).await;
        let mut client = TcpStream::connect(world.address).await.unwrap();
        let connect = b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n";
        client.write_all(connect).await.unwrap();
        let (mut server, _) = world.server.accept().await.unwrap();
        client.write_all(&bytes).await.unwrap();
        let mut seen = Vec::new();
        server.read_to_end(&mut seen).await.unwrap();
        assert_eq!(seen, b"", "{bytes:?}");
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(answer.ends_with(&DECODE_ERROR), "{answer:?}");
        let refused = &world.proxy.connections()[0];
        assert_eq!(refused.verdict, Verdict::OtherName);
        assert!(
            refused
                .reason
                .as_ref()
                .is_some_and(|why| why.contains("ClientHello"))
        );
    }
}

#[tokio::test]
async fn a_client_may_send_its_hello_together_with_its_request() {
    let world = world(&["93.184.216.34"]).await;
    let mut client = TcpStream::connect(world.address).await.unwrap();
    let connect = b"CONNECT A.fine.org.:443 HTTP/1.1\r\n\r\n";
    let hello = hello("a.fine.org");
    client
        .write_all(&[&connect[..], &hello].concat())
        .await
        .unwrap();
    client.shutdown().await.unwrap();
    let (mut server, _) = world.server.accept().await.unwrap();
    server.write_all(b"\x15 an alert").await.unwrap();
    let mut seen = Vec::new();
    server.read_to_end(&mut seen).await.unwrap();
    assert_eq!(seen, hello);
}

/// A HelloRetryRequest, as far as the proxy parses it.
fn retry_request() -> Vec<u8> {
    let head = [22, 3, 3, 0, 88, 2, 0, 0, 84, 3, 3];
    let rest = [0; 50];
    [&head[..], &retry::RETRY_RANDOM, &rest].concat()
}

#[tokio::test]
async fn a_second_client_hello_is_held_to_the_same_name() {
    let change_cipher_spec = vec![20, 3, 3, 0, 1, 1];
    for (second, verdict) in [
        (hello("a.fine.org"), Verdict::Allowed),
        (hello("evil.com"), Verdict::OtherName),
        (vec![22, 3, 3, 0, 1, 1], Verdict::OtherName),
    ] {
        let world = world(&["93.184.216.34"]).await;
        let mut client = TcpStream::connect(world.address).await.unwrap();
        let connect = b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n";
        let first = hello("a.fine.org");
        client
            .write_all(&[&connect[..], &first].concat())
            .await
            .unwrap();
        let (mut server, _) = world.server.accept().await.unwrap();
        server.write_all(&retry_request()).await.unwrap();
        server.shutdown().await.unwrap();
        let second = [change_cipher_spec.clone(), second].concat();
        client.write_all(&second).await.unwrap();
        client.shutdown().await.unwrap();
        let mut seen = Vec::new();
        server.read_to_end(&mut seen).await.unwrap();
        let expected = match verdict {
            Verdict::Allowed => [first, second].concat(),
            _ => first,
        };
        assert_eq!(seen, expected);
        assert_eq!(world.verdicts(), [verdict]);
    }
}

/// What follows the first ClientHello is held back until the server has answered: with the
/// beginning of a record, sent unread, the server would find the second ClientHello elsewhere.
#[tokio::test]
async fn bytes_behind_the_first_client_hello_belong_to_the_second() {
    let fine = hello("a.fine.org");
    let early = [23, 3, 3, 0, 2, 7, 7].to_vec();
    let length = u16::try_from(fine.len()).unwrap().to_be_bytes();
    let header = [&[23, 3, 3][..], &length].concat();
    // The server takes the first of two ClientHellos for early data, and reads the second.
    let hidden = [fine.clone(), hello("evil.com")].concat();
    for (ahead, second, verdict) in [
        (&early, &fine, Verdict::Allowed),
        (&header, &hidden, Verdict::OtherName),
    ] {
        let world = world(&["93.184.216.34"]).await;
        let mut client = TcpStream::connect(world.address).await.unwrap();
        let connect = b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n";
        let sent = [&connect[..], &fine, ahead].concat();
        client.write_all(&sent).await.unwrap();
        let (mut server, _) = world.server.accept().await.unwrap();
        let mut seen = vec![0; fine.len()];
        server.read_exact(&mut seen).await.unwrap();
        assert_eq!(seen, fine);
        server.write_all(&retry_request()).await.unwrap();
        server.shutdown().await.unwrap();
        client.write_all(second).await.unwrap();
        client.shutdown().await.unwrap();
        let mut seen = Vec::new();
        server.read_to_end(&mut seen).await.unwrap();
        let expected = match verdict {
            Verdict::Allowed => [&ahead[..], second].concat(),
            _ => Vec::new(),
        };
        assert_eq!(seen, expected);
        assert_eq!(world.verdicts(), [verdict]);
    }
}

/// It might take what comes next for another first ClientHello.
#[tokio::test]
async fn a_server_that_does_not_accept_the_first_client_hello_gets_no_other_bytes() {
    for answer in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        &[21, 3, 3, 0, 2, 2, 40],
        &[23, 3, 3, 0, 1, 0],
    ] {
        let world = world(&["93.184.216.34"]).await;
        let mut client = TcpStream::connect(world.address).await.unwrap();
        let connect = b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n";
        let first = hello("a.fine.org");
        let sent = [&connect[..], &first, &hello("evil.com")].concat();
        client.write_all(&sent).await.unwrap();
        let (mut server, _) = world.server.accept().await.unwrap();
        server.write_all(answer).await.unwrap();
        server.shutdown().await.unwrap();
        let mut seen = Vec::new();
        server.read_to_end(&mut seen).await.unwrap();
        assert_eq!(seen, first);
        let mut shown = Vec::new();
        client.read_to_end(&mut shown).await.unwrap();
        assert!(shown.ends_with(answer), "{shown:?}");
    }
}

/// Some servers do so if they do not have the name, and go on.
#[tokio::test]
async fn a_retry_request_behind_a_warning_is_seen() {
    let warning = [21, 3, 3, 0, 2, 1, 112];
    let world = world(&["93.184.216.34"]).await;
    let mut client = TcpStream::connect(world.address).await.unwrap();
    let connect = b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n";
    let first = hello("a.fine.org");
    let sent = [&connect[..], &first].concat();
    client.write_all(&sent).await.unwrap();
    let (mut server, _) = world.server.accept().await.unwrap();
    server.write_all(&warning).await.unwrap();
    server.write_all(&retry_request()).await.unwrap();
    server.shutdown().await.unwrap();
    client.write_all(&hello("evil.com")).await.unwrap();
    client.shutdown().await.unwrap();
    let mut seen = Vec::new();
    server.read_to_end(&mut seen).await.unwrap();
    assert_eq!(seen, first);
    assert_eq!(world.verdicts(), [Verdict::OtherName]);
}

#[tokio::test]
async fn early_data_is_sent_to_a_server_that_accepts_the_first_client_hello() {
    let world = world(&["93.184.216.34"]).await;
    let mut client = TcpStream::connect(world.address).await.unwrap();
    let connect = b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n";
    let first = hello("a.fine.org");
    let early = [23, 3, 3, 0, 2, 7, 7];
    let sent = [&connect[..], &first, &early].concat();
    client.write_all(&sent).await.unwrap();
    client.shutdown().await.unwrap();
    let (mut server, _) = world.server.accept().await.unwrap();
    server.write_all(&[22, 3, 3, 0, 88, 2]).await.unwrap();
    server.write_all(&[0; 87]).await.unwrap();
    server.shutdown().await.unwrap();
    let mut seen = Vec::new();
    server.read_to_end(&mut seen).await.unwrap();
    assert_eq!(seen, [&first[..], &early].concat());
    assert_eq!(world.verdicts(), [Verdict::Allowed]);
}

#[tokio::test]
async fn a_body_that_ends_early_ends_the_request() {
    let world = world(&["93.184.216.34"]).await;
    let mut client = TcpStream::connect(world.address).await.unwrap();
    let request = b"POST http://good.com/ HTTP/1.1\r\ncontent-length: 10\r\n\r\nabc";
    client.write_all(request).await.unwrap();
    client.shutdown().await.unwrap();
    let (mut server, _) = world.server.accept().await.unwrap();
    let mut seen = Vec::new();
    server.read_to_end(&mut seen).await.unwrap();
    assert!(seen.ends_with(b"\r\n\r\nabc"), "{seen:?}");
}

#[tokio::test]
async fn a_connection_on_which_nothing_moves_is_ended() {
    let brief = Duration::from_millis(20);
    let idle = ProxyTimeouts {
        idle: brief,
        ..ProxyTimeouts::default()
    };
    let total = ProxyTimeouts {
        total: brief,
        ..ProxyTimeouts::default()
    };
    for timeouts in [idle, total] {
        let world = world_with(&["93.184.216.34"], timeouts).await;
        let (_server, answer) = tokio::join!(
            async { world.server.accept().await.unwrap() },
            world.ask("GET http://good.com/ HTTP/1.1\r\n\r\n"),
        );
        assert_eq!(answer, "");
    }
    let step = ProxyTimeouts {
        step: brief,
        ..ProxyTimeouts::default()
    };
    let world = world_with(&["93.184.216.34"], step).await;
    assert_eq!(world.ask("GET http://good.com/ HTTP/1.1\r\n").await, "");
}

#[tokio::test]
async fn a_request_whose_client_has_left_does_not_wait_for_its_server() {
    let timeouts = ProxyTimeouts {
        half_closed: Duration::from_millis(20),
        ..ProxyTimeouts::default()
    };
    let world = world_with(&["93.184.216.34"], timeouts).await;
    let mut client = TcpStream::connect(world.address).await.unwrap();
    let request = b"GET http://good.com/ HTTP/1.1\r\n\r\n";
    client.write_all(request).await.unwrap();
    let (mut server, _) = world.server.accept().await.unwrap();
    drop(client);
    let mut seen = Vec::new();
    server.read_to_end(&mut seen).await.unwrap();
    assert!(seen.starts_with(b"GET / HTTP/1.1\r\n"), "{seen:?}");
}

#[tokio::test]
async fn a_head_that_does_not_end_is_refused_when_it_is_too_long() {
    let world = world(&["93.184.216.34"]).await;
    let long = format!(
        "GET http://good.com/ HTTP/1.1\r\nx: {}",
        "x".repeat(33 << 10)
    );
    assert_eq!(world.ask(&long).await, "HTTP/1.1 400 Bad Request");
}
