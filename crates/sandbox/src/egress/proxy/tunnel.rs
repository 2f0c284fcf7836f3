//! Tunnels: the TLS server name is checked, then the connection is forwarded or intercepted.

use super::relay::{self, read_hello};
use super::retry::{self, ServerStart};
use super::{Proxy, ProxyRefusal};
use crate::egress::Verdict;
use crate::egress::authority::Authority;
use crate::egress::client_hello::{self, ParsedHello};
use crate::egress::intercept::is_for_secret;
use std::io;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Alerts that end TLS before the handshake: wrong name, or not parsable.
const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];
pub(super) const DECODE_ERROR: [u8; 7] = [21, 3, 3, 0, 2, 2, 50];

impl Proxy {
    /// Forwards TLS for exactly this name, intercepted if there is a secret for it.
    pub(super) async fn connect(
        &self,
        mut client: TcpStream,
        server: TcpStream,
        to: Authority,
        mut hello: Vec<u8>,
    ) -> io::Result<()> {
        client
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
        let name = self
            .with_step_timeout(read_hello(&mut client, &mut hello))
            .await?;
        let interception = self.interception.as_ref();
        let interception = interception.filter(|_| is_for_secret(&to.host, &self.secrets));
        match (interception, name) {
            // An encrypted name has no effect here: the proxy serves the checked one.
            (Some(interception), ParsedHello::Name(name) | ParsedHello::Encrypted(name))
                if name == to.host =>
            {
                self.serve_intercepted(interception, client, hello, server, &to)
                    .await
            }
            (None, ParsedHello::Name(name)) if name == to.host => {
                self.tunnel(client, server, &to, &hello).await
            }
            (_, refused) => self.refuse_hello(client, &to, refused).await,
        }
    }

    /// Forwards TLS unchanged, once no other name can follow.
    async fn tunnel(
        &self,
        mut client: TcpStream,
        mut server: TcpStream,
        to: &Authority,
        hello: &[u8],
    ) -> io::Result<()> {
        // What follows the first record is not sent before the server has answered: after a
        // retry request it belongs to what is checked.
        let (first, rest) = client_hello::split_first_record(hello);
        server.write_all(first).await?;
        let (answer, start) = self
            .with_step_timeout(retry::read_server_start(&mut server))
            .await?;
        client.write_all(&answer).await?;
        let mut second = rest.to_vec();
        match start {
            ServerStart::Accepted => {}
            ServerStart::Retry => {
                let name = retry::read_second_hello(&mut client, &mut second);
                let name = self.with_step_timeout(name).await?;
                if !is_name(&name, to) {
                    return self.refuse_hello(client, to, name).await;
                }
            }
            // It may have more to say, and gets nothing more.
            ServerStart::Refused | ServerStart::Incomplete => {
                self.record(Some(to), Verdict::Allowed.into());
                server.shutdown().await?;
                let rest = tokio::io::copy(&mut server, &mut client);
                self.with_step_timeout(rest).await?;
                return client.shutdown().await;
            }
        }
        server.write_all(&second).await?;
        self.record(Some(to), Verdict::Allowed.into());
        relay::tunnel(client, server, &self.timeouts).await
    }

    async fn refuse_hello(
        &self,
        mut client: TcpStream,
        to: &Authority,
        hello: ParsedHello,
    ) -> io::Result<()> {
        let (reason, alert) = match hello {
            ParsedHello::Name(name) => (format!("the ClientHello names {name}"), UNRECOGNIZED_NAME),
            ParsedHello::Encrypted(_) => (client_hello::ENCRYPTED.to_owned(), DECODE_ERROR),
            ParsedHello::Incomplete => (String::new(), DECODE_ERROR),
            ParsedHello::Refused(why) => (why.to_owned(), DECODE_ERROR),
        };
        self.record(Some(to), ProxyRefusal::new(Verdict::OtherName, &reason));
        client.write_all(&alert).await?;
        client.shutdown().await
    }
}

fn is_name(hello: &ParsedHello, to: &Authority) -> bool {
    matches!(hello, ParsedHello::Name(name) if *name == to.host)
}
