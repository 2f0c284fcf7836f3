//! Which addresses this machine has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Addresses that no machine has: they are for documentation.
const UNUSED_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const UNUSED_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

/// Whether an address is one of this machine. A connection to it stays in the machine, and so
/// passes no firewall in front of it.
///
/// A system binds sockets to its own addresses only. One that is configured to bind them to any
/// (`ip_nonlocal_bind` of Linux) does not tell, and the answer is no.
pub(super) fn is_own_address(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let unused = match address {
        IpAddr::V4(_) => UNUSED_V4,
        IpAddr::V6(_) => UNUSED_V6,
    };
    can_bind(address) && !can_bind(unused)
}

fn can_bind(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_its_loopback_address_and_none_of_the_internet() {
        let is_own = |address: &str| is_own_address(address.parse().unwrap());
        assert!(is_own("127.0.0.1") && is_own("::ffff:127.0.0.1"));
        for address in ["1.1.1.1", "93.184.216.34", "2606:4700::1111"] {
            assert!(!is_own(address), "{address}");
        }
    }
}
