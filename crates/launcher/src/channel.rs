//! Messages with descriptors over a `SOCK_SEQPACKET` socket.
//!
//! The body travels in a memfd, so a message may be as long as a command line may be,
//! and the packet itself is one byte and the descriptors.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;

/// Most descriptors a message carries besides its body.
pub const MAX_FDS: usize = 4;

/// Longest body accepted, in bytes.
pub const MAX_BODY_BYTES: u64 = 16 << 20;

/// Size of the control data of a message: the body and its descriptors.
const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_FDS + 1));

/// A connected pair, closed on exec.
///
/// # Errors
/// When the system is out of descriptors.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Sends one message.
///
/// # Errors
/// When the peer is gone or the system is out of descriptors or memory.
pub fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut body = std::fs::File::from(rustix::fs::memfd_create("message", MemfdFlags::CLOEXEC)?);
    body.write_all(&serde_json::to_vec(message)?)?;
    let mut all = vec![body.as_fd()];
    all.extend_from_slice(fds);
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if fds.len() > MAX_FDS || !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    let iov = [IoSlice::new(b"m")];
    rustix::io::retry_on_intr(|| {
        rustix::net::sendmsg(&socket, &iov, &mut control, SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Whether a send failed because the peer has closed its end. What the peer sent before can
/// still be received.
#[must_use]
pub fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// Receives one message, or `None` when the peer has closed its end and everything that it
/// sent before was received.
///
/// # Errors
/// `WouldBlock` when the socket is non-blocking and no message has arrived; otherwise when
/// the message cannot be decoded.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8; 1];
    let mut receive_packet = || {
        rustix::io::retry_on_intr(|| {
            rustix::net::recvmsg(
                &socket,
                &mut [IoSliceMut::new(&mut byte)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            )
        })
    };
    let read = match receive_packet() {
        // The peer closed its end before it had received all. The kernel says so once, and
        // ahead of the packets that the peer had sent, which say why it ended.
        Err(Errno::CONNRESET) => receive_packet(),
        first => first,
    }?;
    if read.bytes == 0 {
        return Ok(None);
    }
    let mut fds: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    if fds.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a message without a body",
        ));
    }
    let mut body = std::fs::File::from(fds.remove(0));
    body.rewind()?;
    let length = body.metadata()?.len().min(MAX_BODY_BYTES);
    let mut text = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    body.take(MAX_BODY_BYTES).read_to_end(&mut text)?;
    Ok(Some((serde_json::from_slice(&text)?, fds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_with_its_descriptors() {
        let (left, right) = pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        let long = "x".repeat(1 << 20);
        send(&left, &long, &[write.as_fd()]).unwrap();
        drop(write);
        let (text, fds): (String, _) = receive(&right).unwrap().unwrap();
        assert_eq!(text, long);
        rustix::io::write(&fds[0], b"hi").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(rustix::io::read(&read, &mut buffer).unwrap(), 2);
    }

    #[test]
    fn a_closed_peer_is_the_end_and_not_an_error() {
        let (left, right) = pair().unwrap();
        drop(left);
        assert!(receive::<String>(&right).unwrap().is_none());
    }
    #[test]
    fn what_a_peer_sent_comes_before_its_end_whatever_it_left_unread() {
        let (left, right) = pair().unwrap();
        send(&left, &"a request", &[]).unwrap();
        send(&right, &"why", &[]).unwrap();
        drop(right);
        let (why, _) = receive::<String>(&left).unwrap().unwrap();
        assert_eq!(why, "why");
        assert!(receive::<String>(&left).unwrap().is_none());
    }

    #[test]
    fn what_a_peer_sent_can_be_received_after_a_send_that_came_too_late() {
        for is_unread in [false, true] {
            let (left, right) = pair().unwrap();
            if is_unread {
                send(&left, &"a request", &[]).unwrap();
            }
            send(&right, &"why", &[]).unwrap();
            drop(right);
            let late = send(&left, &"another request", &[]).unwrap_err();
            assert!(is_closed(&late), "{late}");
            let (why, _) = receive::<String>(&left).unwrap().unwrap();
            assert_eq!(why, "why");
            assert!(receive::<String>(&left).unwrap().is_none());
        }
    }
}
