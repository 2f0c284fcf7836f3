//! Which network addresses are public.
//!
//! One rule for everything that connects for somebody else: the sandbox's egress proxy and
//! sources by URL. It classifies addresses only, without names or sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks that are not: private, shared, local, documentation, benchmarking,
/// multicast and reserved.
const NON_PUBLIC_RANGES: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::new(168, 63, 129, 16), 32), // a cloud's own service under a public number
];

/// Whether an address is a public one.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => address
            .to_ipv4_mapped()
            .map_or_else(|| is_public_v6(address), is_public_v4),
    }
}

/// Services of clouds outside of link-local addresses: Azure's, Alibaba's, Oracle's.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Whether an address is a cloud's metadata service, which serves credentials: link-local
/// addresses, and some others. Nothing else is served there, so no setting permits them.
pub fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local() || METADATA_V4.contains(&v4),
        IpAddr::V6(v6) => {
            // All of Amazon's (instances, pods) are in one network; Google's is one address.
            let is_amazon = matches!(v6.segments(), [0xfd00, 0xec2, ..]);
            let is_google = v6 == Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254);
            v6.is_unicast_link_local()
                || is_amazon
                || is_google
                || embedded_v4(v6).is_some_and(|v4| is_metadata(v4.into()))
        }
    }
}

/// The IPv4 address that a network translates an address into, or that a tunnel leads to:
/// mapped, compatible, NAT64 (RFC 6052, and RFC 8215 with a prefix of 96 bits) or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within = |(network, bits): &(Ipv4Addr, u32)| {
        (address.to_bits() ^ network.to_bits()).leading_zeros() >= *bits
    };
    !NON_PUBLIC_RANGES.iter().any(within)
}

/// Only global unicast, and of it not documentation, tunnels that carry any IPv4
/// address, or protocol assignments.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let global = first & 0xE000 == 0x2000;
    let special = first == 0x2001 && (second < 0x0200 || second == 0x0DB8);
    let tunnel = first == 0x2002;
    let documentation = first == 0x3FFF && second < 0x1000;
    global && !special && !tunnel && !documentation
}

#[cfg(test)]
mod tests {
    use super::{is_metadata, is_public};

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for address in ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "172.32.0.1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn metadata_addresses_of_every_cloud_are_known_also_behind_translation() {
        for address in [
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::23",
            "fd20:ce::254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1:abcd::169.254.169.254",
            "64:ff9b::100.100.100.200",
            "2002:a9fe:a9fe::1",
        ] {
            assert!(is_metadata(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn metadata_addresses_are_known_in_every_spelling() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "168.63.129.16",
            "::ffff:169.254.169.254",
            "fe80::a9fe:a9fe",
            "fd00:ec2::254",
        ] {
            assert!(is_metadata(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "1.1.1.1",
            "::1",
            "fd00::1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
        ] {
            assert!(!is_metadata(address.parse().unwrap()), "{address}");
        }
    }
}
