//! environment.conf: the modulepath, and the old setting of a data provider.
//!
//! Source: `settings/environment_conf.rb`, `ini_file.rb`, `config_file.rb`.

use super::loader::Loader;
use crate::diagnostic::Place;
use crate::hiera::LookupError;

/// The settings of environment.conf that concern data.
#[derive(Default)]
pub(super) struct EnvironmentConf {
    /// The folders of modules, separated by colons, if they are set.
    pub(super) modulepath: Option<String>,
    /// The manifest, or the folder of manifests, that Puppet evaluates first, if it is set.
    pub(super) manifest: Option<String>,
    /// `environment_data_provider`.
    pub(super) data_provider: Option<String>,
    /// Puppet's error if it cannot read the file, so that nothing can be looked up.
    pub(super) fault: Option<LookupError>,
    /// True if the error concerns only the modulepath.
    pub(super) fault_in_modulepath: bool,
}

impl EnvironmentConf {
    /// Reads the file at `path`.
    pub(super) fn parse(content: &[u8], path: &str, loader: &mut Loader<'_>) -> EnvironmentConf {
        let mut conf = EnvironmentConf::default();
        let mut is_ignored = false;
        for (number, whole) in (1u32..).zip(String::from_utf8_lossy(content).split_inclusive('\n')) {
            let place = Place::line(path, number);
            let line = whole.trim();
            if let Some(section) = section(line) {
                is_ignored = section != "main";
                if is_ignored {
                    let text = format!("environment.conf has no sections: [{section}] is ignored");
                    loader.warn("environment-conf", place, text);
                }
            } else if let Some((name, value)) = setting(line) {
                let value = without_file_options(value).unwrap_or_else(|text| {
                    conf.fault.get_or_insert_with(|| LookupError::puppet(text).at(place.clone()));
                    String::new()
                });
                // The first of duplicate settings wins.
                match name {
                    _ if is_ignored => {}
                    "modulepath" if conf.modulepath.is_none() => {
                        if let Some(setting) = unknown_setting(&value) {
                            let text = format!("the setting ${setting} in modulepath; if there is none, Puppet fails");
                            conf.fault_in_modulepath = conf.fault.is_none();
                            conf.fault.get_or_insert_with(|| LookupError::unknown(text).at(place));
                        }
                        conf.modulepath = Some(value);
                    }
                    "manifest" if conf.manifest.is_none() => conf.manifest = Some(value),
                    "environment_data_provider" if conf.data_provider.is_none() => conf.data_provider = Some(value),
                    _ => {}
                }
            } else if !line.is_empty() && !line.starts_with('#') {
                let text = format!("Could not match line {whole} (file: {path}, line: {number})");
                conf.fault.get_or_insert_with(|| LookupError::puppet(text).at(place));
            }
        }
        conf
    }
}

/// Puppet's settings that name folders, with their values if Puppet is installed from packages. The environment is
/// written as in hiera.yaml, so that it is found among the settings' `datadirs`.
const SETTINGS: [(&str, &str); 7] = [
    ("codedir", "/etc/puppetlabs/code"),
    ("confdir", "/etc/puppetlabs/puppet"),
    ("environment", "%{environment}"),
    ("environmentpath", "/etc/puppetlabs/code/environments"),
    ("libdir", "/opt/puppetlabs/puppet/cache/lib"),
    ("vardir", "/opt/puppetlabs/puppet/cache"),
    ("vendormoduledir", "/opt/puppetlabs/puppet/vendor_modules"),
];

/// Returns a modulepath with its settings expanded.
pub(super) fn expand_settings(modulepath: &str, basemodulepath: &[String]) -> String {
    let base = basemodulepath.join(":");
    let mut settings: Vec<(&str, &str)> = SETTINGS.into_iter().chain([("basemodulepath", &*base)]).collect();
    // `$environment` is also the beginning of `$environmentpath`.
    settings.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    settings.into_iter().fold(modulepath.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
}

/// Returns a value without the owner, group and mode of a file that may follow it in braces. Anything else in braces
/// is an error, even the name of a setting.
fn without_file_options(value: &str) -> Result<String, String> {
    let parts = value.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = parts.filter(|(_, (inside, _))| !inside.trim().is_empty()) else {
        return Ok(value.to_owned());
    };
    for option in inside.split(',') {
        let option = option.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        match option.filter(|(name, value)| is_word(name) && is_word(value)) {
            Some(("owner" | "group", _)) => {}
            Some(("mode", mode)) if mode.bytes().all(|byte| byte.is_ascii_digit()) => {}
            Some(("mode", _)) => return Err("File modes must be numbers".to_owned()),
            Some((name, _)) => return Err(format!("Invalid file option '{name}'")),
            None => return Err(format!("Could not parse '{value}'")),
        }
    }
    Ok(format!("{before}{after}"))
}

/// Returns the first `$setting` that is not in [`SETTINGS`].
fn unknown_setting(modulepath: &str) -> Option<&str> {
    modulepath.split('$').skip(1).find_map(|after| {
        let name = &after[..after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len())];
        let known = name == "basemodulepath" || SETTINGS.iter().any(|(known, _)| *known == name);
        (!name.is_empty() && !known).then_some(name)
    })
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']').filter(|name| is_word(name))
}

fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
    let value = value.strip_suffix(['"', '\'']).unwrap_or(value);
    is_word(name).then_some((name, value.trim_end()))
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}
