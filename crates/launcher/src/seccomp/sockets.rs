//! Which sockets a command may make, and which of their options it may set.
//!
//! Both lists name what ordinary programs use. For a combination of family, kind and protocol
//! that it does not have, the kernel starts a program of the host which looks for a module,
//! whoever asks; some options reach wide parts of the kernel, or use what is limited for the
//! whole host. Numbers are the same on all architectures. It knows nothing of other calls.

use super::argument_check::{ArgumentCheck, exactly};

const UNIX: &[u32] = &[1];
const IPV4: &[u32] = &[2];
const IPV6: &[u32] = &[10];
const IP: &[u32] = &[2, 10];

const STREAM: ArgumentCheck = kind(&[1]);
const DATAGRAM: ArgumentCheck = kind(&[2]);

/// A check of the kind of a socket, without the flags that are in the same argument.
const fn kind(values: &'static [u32]) -> ArgumentCheck {
    ArgumentCheck {
        argument: 1,
        mask: 0xF,
        values,
    }
}

/// Unix, TCP and UDP, and ICMP where the host permits it.
pub(super) const SOCKETS: &[&[ArgumentCheck]] = &[
    &[exactly(0, UNIX)],
    &[exactly(0, IP), STREAM, exactly(2, &[0, 6])],
    &[exactly(0, IP), DATAGRAM, exactly(2, &[0, 17])],
    &[exactly(0, IPV4), DATAGRAM, exactly(2, &[1])],
    &[exactly(0, IPV6), DATAGRAM, exactly(2, &[58])],
];

/// The kernel makes two sockets before it finds that other families have no pairs.
pub(super) const SOCKET_PAIRS: ArgumentCheck = exactly(0, UNIX);

/// Not among them: filters (`SO_ATTACH_FILTER` and its like), which the kernel compiles, and for
/// which it has an amount of memory for all programs of the host together, without which no other
/// sandbox could start; TLS and other protocols above TCP in the kernel (`TCP_ULP`), signatures
/// and repair of TCP; `TCP_TX_DELAY`, which makes TCP of the whole host slower for as long as that
/// runs; packets within UDP; labels of flows, of which the host has a few thousand;
/// IPsec; what routers and firewalls set.
pub(super) const SOCKET_OPTIONS: &[&[ArgumentCheck]] = &[
    // Of sockets themselves.
    &[
        exactly(1, &[1]),
        exactly(
            2,
            &[
                1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // debug to reuse of ports
                16, 18, 19, 20, 21, 25, 29, // credentials, marks, times, device, time stamps
                32, 33, 34, 35, 36, 37, 40, 42, 49, 62, // sizes, marks, counters, device
                63, 64, 65, 66, 67, 74, 75, 76, // 64-bit times, hashes, marks, pidfd
            ],
        ),
    ],
    // Of IPv4.
    &[
        exactly(1, &[0]),
        exactly(
            2,
            &[
                1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, // service to free binding
                18, 20, 21, 23, 24, 25, 26, // labels, original address, errors
                32, 33, 34, 35, 36, 37, 38, 39, 40, 41, // multicast
                42, 43, 44, 45, 46, 47, 48, 49, // multicast of both versions
                50, 51, // device, range of ports
            ],
        ),
    ],
    // Of TCP.
    &[
        exactly(1, &[6]),
        exactly(
            2,
            &[
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, // delay to congestion control
                16, 17, 18, 23, 24, 25, 27, // thin streams, time, fast open, unsent bytes
                30, 33, 34, 36, // fast open, queue
            ],
        ),
    ],
    // Of UDP: corking, checksums, segments.
    &[exactly(1, &[17]), exactly(2, &[1, 101, 102, 103, 104])],
    // Of IPv6.
    &[
        exactly(1, &[41]),
        exactly(
            2,
            &[
                1, 2, 8, 11, // family, what is received
                16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 29, 31, 33, // hops to errors
                42, 43, 44, 45, 46, 47, 48, // multicast
                49, 50, 51, 52, 60, 61, 62, 66, 67, // what is received, path, class
                70, 72, 73, 74, 76, 77, 78, // labels, choice of addresses, device
            ],
        ),
    ],
    // Of ICMP for IPv6, and of raw sockets, which cannot be made.
    &[exactly(1, &[58, 255])],
];
