//! The supported versions of Puppet, and a method for each difference between them.

/// The Puppet whose behaviour and defaults count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Puppet {
    /// Puppet 7 with its defaults, `strict=warning`. Puppet 5 and 6 answer the same.
    V7,
    /// Puppet 8 with its defaults, `strict=error`.
    #[default]
    V8,
}

impl Puppet {
    /// Returns the release of a version such as `7.23.0`; versions that are no numbers count as old ones.
    pub fn of_version(version: &str) -> Puppet {
        let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or_default();
        if major >= 8 { Puppet::V8 } else { Puppet::V7 }
    }

    /// Returns the number of the version.
    pub fn number(self) -> u8 {
        match self {
            Puppet::V7 => 7,
            Puppet::V8 => 8,
        }
    }

    /// Returns true if an undefined variable in data, `options` or a datadir fails; otherwise it is the empty text, as
    /// it always is in a path.
    pub fn refuses_undefined_variables(self) -> bool {
        self >= Puppet::V8
    }

    /// Returns true if a YAML data file that is neither a hash nor empty fails; otherwise it holds nothing.
    pub fn refuses_data_files_that_are_no_hash(self) -> bool {
        self >= Puppet::V8
    }

    /// Returns true if a hiera.yaml of version 3 in an environment or a module fails; otherwise it is ignored.
    pub fn refuses_version_3_below_the_global_layer(self) -> bool {
        self >= Puppet::V8
    }

    /// Returns true if a module whose metadata.json cannot be parsed has no data; otherwise the file is ignored.
    pub fn drops_modules_with_unreadable_metadata(self) -> bool {
        self >= Puppet::V8
    }
}
