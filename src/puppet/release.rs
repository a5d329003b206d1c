//! The supported versions of Puppet and of Ruby, and a method for each difference between them.

use crate::value::{Floats, Notation, Printable};

/// The Puppet whose behaviour and defaults apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Puppet {
    /// Puppet 7 with its defaults, `strict=warning`. Puppet 5 and 6 behave the same.
    V7,
    /// Puppet 8 with its defaults, `strict=error`.
    #[default]
    V8,
    /// OpenVox 9 with its defaults, `strict=error`.
    V9,
}

impl Puppet {
    /// Returns the release of a version such as `7.23.0`; a version that is not a number is treated as an old one.
    pub fn of_version(version: &str) -> Puppet {
        let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or_default();
        match major {
            ..8 => Puppet::V7,
            8 => Puppet::V8,
            9.. => Puppet::V9,
        }
    }

    /// Returns the supported version with this number, or `None` if there is none.
    pub fn of_number(number: u64) -> Option<Puppet> {
        [Puppet::V7, Puppet::V8, Puppet::V9].into_iter().find(|puppet| u64::from(puppet.number()) == number)
    }

    /// Returns the name of the program.
    pub fn name(self) -> &'static str {
        if self >= Puppet::V9 { "OpenVox" } else { "Puppet" }
    }

    /// Returns the number of the version.
    pub fn number(self) -> u8 {
        match self {
            Puppet::V7 => 7,
            Puppet::V8 => 8,
            Puppet::V9 => 9,
        }
    }

    /// Returns the Ruby that it runs on by default.
    pub fn ruby(self) -> Ruby {
        match self {
            Puppet::V7 | Puppet::V8 => Ruby::V3_1,
            Puppet::V9 => Ruby::V3_4,
        }
    }

    /// Returns true if an undefined variable in data, `options` or a datadir fails; otherwise it is the empty text, as
    /// it always is in a path.
    pub fn refuses_undefined_variables(self) -> bool {
        self >= Puppet::V8
    }

    /// Returns true if a YAML data file that is neither a hash nor empty fails; otherwise it is treated as empty.
    pub fn refuses_data_files_that_are_no_hash(self) -> bool {
        self >= Puppet::V8
    }

    /// Returns true if a hiera.yaml of version 3 in an environment or a module fails; otherwise it is ignored.
    pub fn refuses_version_3_below_the_global_layer(self) -> bool {
        self >= Puppet::V8
    }

    /// Returns true if `environment_data_provider` in environment.conf is ignored.
    pub fn ignores_environment_data_providers(self) -> bool {
        self >= Puppet::V9
    }

    /// Returns true if a module whose metadata.json cannot be parsed has no data; otherwise the file is ignored.
    pub fn drops_modules_with_unreadable_metadata(self) -> bool {
        self >= Puppet::V8
    }
}

/// The Ruby that runs Puppet, as far as answers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ruby {
    /// Ruby 3.1. It stands for all versions from 2.5 to 3.2.
    V3_1,
    /// Ruby 3.3.
    V3_3,
    /// Ruby 3.4 and later, with Psych 5.5.
    V3_4,
    /// JRuby 9.3, as in Puppet server 7.
    JRuby9_3,
    /// JRuby 9.4, as in Puppet server 8 and OpenVox server 8.
    JRuby9_4,
    /// JRuby 10, as in OpenVox server 9.
    JRuby10,
}

/// The version of Psych, as far as scalars depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Psych {
    /// Psych of Ruby 3.1, for which `0,` and `0_` are zero.
    #[default]
    V4,
    /// Psych of Ruby 3.4, in which a number needs a digit after its prefix: `0,` is text.
    V5_2,
}

impl Ruby {
    /// Returns the Ruby of a version such as `3.3` or `3.3.8`, or of a JRuby such as `jruby-9.3`; `jruby` is JRuby 9.4.
    pub fn of_version(version: &str) -> Option<Ruby> {
        let (is_jruby, number) = match version.strip_prefix("jruby") {
            Some("") => (true, "9.4"),
            Some(number) => (true, number.strip_prefix('-')?),
            None => (false, version),
        };
        let mut numbers = number.split('.').map(str::parse::<u32>);
        let (major, minor) = (numbers.next()?.ok()?, numbers.next().transpose().ok()?);
        match (is_jruby, major, minor) {
            (true, 9, Some(3)) => Some(Ruby::JRuby9_3),
            (true, 9, Some(4)) => Some(Ruby::JRuby9_4),
            (true, 10, _) => Some(Ruby::JRuby10),
            (false, 2, Some(5..=7)) | (false, 3, Some(0..=2)) => Some(Ruby::V3_1),
            (false, 3, Some(3)) => Some(Ruby::V3_3),
            (false, 3, Some(4..)) | (false, 4.., _) => Some(Ruby::V3_4),
            _ => None,
        }
    }

    /// Returns the notation in which it writes values.
    pub fn notation(self) -> Notation {
        let printable = match self {
            Ruby::V3_1 | Ruby::JRuby9_3 | Ruby::JRuby9_4 => Printable::Unicode13,
            Ruby::V3_3 | Ruby::V3_4 | Ruby::JRuby10 => Printable::Unicode15,
        };
        let floats = if self.is_jruby() { Floats::JRuby } else { Floats::Ruby };
        Notation { spaces_hashes: matches!(self, Ruby::V3_4 | Ruby::JRuby10), printable, floats }
    }

    /// Returns true if a URI such as `puppet:///a` has an empty host; otherwise it has none, and is `puppet:/a`.
    pub fn keeps_empty_hosts(self) -> bool {
        !matches!(self, Ruby::V3_1 | Ruby::JRuby9_3)
    }

    /// Returns true for a JRuby.
    pub fn is_jruby(self) -> bool {
        matches!(self, Ruby::JRuby9_3 | Ruby::JRuby9_4 | Ruby::JRuby10)
    }

    /// Returns the version of Psych that reads YAML. [`server`](super::server) names what a JRuby reads differently.
    pub fn psych(self) -> Psych {
        match self {
            Ruby::V3_1 | Ruby::V3_3 | Ruby::JRuby9_3 | Ruby::JRuby9_4 => Psych::V4,
            Ruby::V3_4 | Ruby::JRuby10 => Psych::V5_2,
        }
    }

    /// Returns its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Ruby::V3_1 => "3.1",
            Ruby::V3_3 => "3.3",
            Ruby::V3_4 => "3.4",
            Ruby::JRuby9_3 => "jruby-9.3",
            Ruby::JRuby9_4 => "jruby-9.4",
            Ruby::JRuby10 => "jruby-10",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_ruby_stand_for_the_one_that_answers_alike() {
        for (ruby, versions) in [
            (Some(Ruby::V3_1), &["3.1", "2.7", "2.5.9", "3.2.8", "3.0"][..]),
            (Some(Ruby::V3_3), &["3.3", "3.3.8"]),
            (Some(Ruby::V3_4), &["3.4", "3.5", "4.0.1", "4", "3.10"]),
            (Some(Ruby::JRuby9_3), &["jruby-9.3", "jruby-9.3.9.0"]),
            (Some(Ruby::JRuby9_4), &["jruby", "jruby-9.4", "jruby-9.4.8.0"]),
            (Some(Ruby::JRuby10), &["jruby-10", "jruby-10.1.2.0"]),
            (
                None,
                &[
                    "",
                    "3",
                    "1.9",
                    "2.4",
                    "jruby-",
                    "jruby-9",
                    "jruby-9.2",
                    "jruby9.3",
                    "JRuby",
                    "ruby-3.1",
                    "3.x",
                    "v3.1",
                    "-3.1",
                ],
            ),
        ] {
            for version in versions {
                assert_eq!(Ruby::of_version(version), ruby, "{version}");
                assert_eq!(ruby.and_then(|ruby| Ruby::of_version(ruby.name())), ruby, "{version}");
            }
        }
    }
}
