//! Node profiles, of the size that real ones have without what nobody looks at.

use serde_json::{Value, json};

use super::Shape;

/// The certname of a node.
pub(super) fn certname(number: usize) -> String {
    format!("node{number:06}.example.com")
}

/// The role of a node.
pub(super) fn role(shape: &Shape, number: usize) -> String {
    format!("role{:02}", number % shape.roles)
}

/// The site of a node; roles are on all sites.
pub(super) fn site(shape: &Shape, number: usize) -> String {
    format!("site{}", number / shape.roles % shape.sites)
}

/// The profile of a node.
pub(super) fn profile(shape: &Shape, number: usize) -> Value {
    let name = certname(number);
    let hostname = &name[..10];
    let [a, b, c] = [number >> 16, number >> 8, number].map(|part| part & 255);
    let (ip, mac) = (format!("10.{a}.{b}.{c}"), format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"));
    let load = f64::from(u16::try_from(number % 700).unwrap_or(0)) / 100.0;
    let tier = ["gold", "silver", "bronze"][number / 7 % 3];
    let release = ["11", "12", "13"][number % 3];
    let interface = json!({
        "bindings": [{"address": ip, "netmask": "255.0.0.0", "network": "10.0.0.0"}],
        "ip": ip, "mac": mac, "mtu": 1500, "netmask": "255.0.0.0", "network": "10.0.0.0",
    });
    let facts = json!({
        "architecture": "amd64",
        "augeas": {"version": "1.14.0"},
        "disks": {"sda": {"model": "QEMU HARDDISK", "size": "80.00 GiB", "size_bytes": 85_899_345_920_u64, "vendor": "QEMU"}},
        "dmi": {
            "bios": {"release_date": "04/01/2014", "vendor": "SeaBIOS", "version": "1.16.2"},
            "manufacturer": "QEMU",
            "product": {"name": "Standard PC", "uuid": format!("4c4c4544-0000-1000-8000-{number:012x}")},
        },
        "is_virtual": true,
        "kernel": "Linux",
        "kernelrelease": format!("6.1.0-{}-amd64", 10 + number % 17),
        "load_averages": {"15m": 0.05, "1m": load, "5m": 0.01},
        "memory": {"system": {"total": "7.75 GiB", "total_bytes": 8_326_197_248_u64, "used_bytes": 1_000_000 + number}},
        "networking": {
            "domain": "example.com", "fqdn": name, "hostname": hostname, "interfaces": {"eth0": interface},
            "ip": ip, "mac": mac, "primary": "eth0",
        },
        "os": {
            "architecture": "amd64", "family": "Debian", "name": "Debian",
            "release": {"full": format!("{release}.4"), "major": release, "minor": "4"},
        },
        "processors": {"count": 1 << (number % 5), "isa": "x86_64", "models": ["Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"]},
        "site": site(shape, number),
        "ssh": {"ed25519": {"fingerprints": {"sha256": format!("SSHFP 4 2 {number:064x}")}, "type": "ssh-ed25519"}},
        "system_uptime": {"days": number % 400, "seconds": number * 37},
        "tier": tier,
        "timezone": "UTC",
        "virtual": "kvm",
    });
    json!({
        "name": name,
        "environment": "production",
        "facts": facts,
        "trusted": {"extensions": {"pp_role": role(shape, number)}},
    })
}
