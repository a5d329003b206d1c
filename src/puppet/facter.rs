//! The names of Facter's own facts.

/// The legacy facts, with `*` for any text. Facter prints them only with `--show-legacy`, agents of Puppet 7 send
/// them, and agents of Puppet 8 only with `include_legacy_facts`.
///
/// Source: `facter/config.rb` (the group `legacy`) and the aliases in `facter/facts` of Facter 4.
const LEGACY: &str = "architecture augeasversion bios_release_date bios_vendor bios_version blockdevice_*_model \
    blockdevice_*_size blockdevice_*_vendor blockdevices boardassettag boardmanufacturer boardproductname \
    boardserialnumber chassisassettag chassistype dhcp_servers domain fqdn gid hardwareisa hardwaremodel hostname id \
    interfaces ipaddress ipaddress_* ipaddress6 ipaddress6_* ldom_* lsbdistcodename lsbdistdescription lsbdistid \
    lsbdistrelease lsbmajdistrelease lsbminordistrelease lsbrelease macaddress macaddress_* macosx_buildversion \
    macosx_productname macosx_productversion macosx_productversion_* manufacturer memoryfree memoryfree_mb memorysize \
    memorysize_mb mtu_* netmask netmask_* netmask6 netmask6_* network network_* network6 network6_* operatingsystem \
    operatingsystemmajrelease operatingsystemrelease osfamily physicalprocessorcount processor0* processor1* \
    processor2* processor3* processor4* processor5* processor6* processor7* processor8* processor9* processorcount \
    productname rubyplatform rubysitedir rubyversion scope6 scope6_* selinux selinux_* serialnumber sp_* ssh*key \
    sshfp_* swapencrypted swapfree swapfree_mb swapsize swapsize_mb system32 uptime uptime_days uptime_hours \
    uptime_seconds uuid windows_display_version windows_edition_id windows_installation_type windows_product_name \
    windows_release_id xendomains zone_*_brand zone_*_id zone_*_iptype zone_*_name zone_*_path zone_*_status \
    zone_*_uuid zonename zones";

/// Other facts that Facter has on all nodes.
const CORE: &str = "facterversion identity is_virtual kernel kernelmajversion kernelrelease kernelversion memory \
    mountpoints networking os path processors ruby system_uptime timezone virtual";

/// Returns true if this is the name of a legacy fact.
pub fn is_legacy(name: &str) -> bool {
    LEGACY.split_whitespace().any(|known| match known.split_once('*') {
        Some((first, last)) => {
            name.strip_prefix(first).is_some_and(|rest| rest.len() > last.len() && rest.ends_with(last))
                || known.starts_with("processor") && name == first
        }
        None => known == name,
    })
}

/// Returns true if this is the name of a structured fact, or of another one that Facter always prints.
pub fn is_core(name: &str) -> bool {
    CORE.split_whitespace().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_facts_are_known_by_name() {
        for name in ["hostname", "osfamily", "ipaddress", "ipaddress_eth0", "processor0", "processor12", "sshrsakey"] {
            assert!(is_legacy(name), "{name}");
        }
        for name in ["os", "processors", "ipaddress_", "site", "hostname2", "processor", "sshkey", "kernel", "virtual"]
        {
            assert!(!is_legacy(name), "{name}");
        }
        assert!(is_core("os") && is_core("kernel") && !is_core("osfamily") && !is_core("site"));
    }
}
