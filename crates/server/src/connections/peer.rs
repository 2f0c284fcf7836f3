//! The address that a connection counts for.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv6 address that one network chooses freely.
const INTERFACE_BITS: u32 = 64;

/// An IPv4 address, or the /64 network of an IPv6 address, whose owner can use all of its
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Peer(IpAddr);

impl Peer {
    pub(crate) fn new(address: IpAddr) -> Peer {
        Peer(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> INTERFACE_BITS << INTERFACE_BITS;
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
        })
    }

    pub(crate) fn address(self) -> IpAddr {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer::new(address.parse().unwrap())
    }

    #[test]
    fn an_ipv6_network_is_one_peer_and_an_ipv4_address_is_one() {
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_eq!(peer("192.0.2.1"), peer("::ffff:192.0.2.1"));
    }
}
