//! The versions of Puppet, and everything in which they differ: a switch each.

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
    /// Returns the number of the version.
    pub fn number(self) -> u8 {
        match self {
            Puppet::V7 => 7,
            Puppet::V8 => 8,
        }
    }

    /// An undefined variable in data, `options` or a datadir fails; it is the empty text otherwise. In a path it always
    /// is.
    pub fn refuses_undefined_variables(self) -> bool {
        self >= Puppet::V8
    }

    /// A YAML data file that is neither a hash nor empty fails; it holds nothing otherwise.
    pub fn refuses_data_files_that_are_no_hash(self) -> bool {
        self >= Puppet::V8
    }

    /// A hiera.yaml of version 3 in an environment or a module fails; it is ignored otherwise.
    pub fn refuses_version_3_below_the_global_layer(self) -> bool {
        self >= Puppet::V8
    }

    /// A module whose metadata.json cannot be parsed has no data; the file is ignored otherwise.
    pub fn drops_modules_with_unreadable_metadata(self) -> bool {
        self >= Puppet::V8
    }
}
