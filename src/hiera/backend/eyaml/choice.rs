//! The keys that may be read. A stranger may have written hiera.yaml, and can name any file of the machine there.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

use crate::value::Value;

/// The prefix of an allowed key that is an environment variable.
const VARIABLE_PREFIX: &str = "env:";

/// The place of a key: the environment variable, if that is set, or else the file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeyName {
    /// An absolute path on disk.
    pub file: Option<Arc<str>>,
    /// The name of an environment variable.
    pub variable: Option<Arc<str>>,
    /// True if the variable holds the key in base 64.
    pub is_base64: bool,
}

/// The places of the two keys of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeyNames {
    /// The private key.
    pub private: KeyName,
    /// The certificate with the public key, which tells which of a block's recipients is this key.
    pub public: KeyName,
}

/// The keys that may be read.
#[derive(Debug, Clone)]
pub enum KeyChoice {
    /// The keys that hiera.yaml names, if they are allowed.
    Named(AllowedKeys),
    /// One pair for all encrypted data, whatever hiera.yaml names.
    Pair(KeyNames),
    /// No keys: everything encrypted stays encrypted.
    NoKeys,
}

impl Default for KeyChoice {
    fn default() -> KeyChoice {
        KeyChoice::Named(AllowedKeys::default())
    }
}

/// The places of keys that hiera.yaml may name.
#[derive(Debug, Clone, Default)]
pub struct AllowedKeys {
    files: Vec<GlobMatcher>,
    variables: Vec<String>,
}

impl AllowedKeys {
    /// Parses absolute paths, in which `*` stands for a part of one name and `**` for any folders, and environment
    /// variables: `env:NAME`. The error reports the first entry that is neither.
    pub fn parse<'t>(entries: impl IntoIterator<Item = &'t str>) -> Result<AllowedKeys, String> {
        let mut allowed = AllowedKeys::default();
        for entry in entries {
            if let Some(name) = entry.strip_prefix(VARIABLE_PREFIX).filter(|name| !name.is_empty()) {
                allowed.variables.push(name.to_owned());
                continue;
            }
            if !entry.starts_with('/') {
                return Err(format!("'{entry}' is neither an absolute path nor env:NAME"));
            }
            let glob = GlobBuilder::new(entry).literal_separator(true).backslash_escape(true).build();
            allowed.files.push(glob.map_err(|error| error.to_string())?.compile_matcher());
        }
        Ok(allowed)
    }

    /// Returns the globs of the files, as they are written.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|glob| glob.glob().glob())
    }

    /// Returns the environment variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(String::as_str)
    }

    /// Returns true if both keys of a pair may be read.
    pub(super) fn allow(&self, names: &KeyNames) -> bool {
        [&names.private, &names.public].into_iter().all(|name| self.allows(name))
    }

    fn allows(&self, name: &KeyName) -> bool {
        let has_file = |path: &str| {
            // A path must not leave a glob's folder by way of the parent folder.
            let is_plain = path.split('/').all(|name| name != "..");
            is_plain && self.files.iter().any(|glob| glob.is_match(path))
        };
        name.file.as_deref().is_none_or(has_file)
            && name.variable.as_deref().is_none_or(|name| self.variables.iter().any(|allowed| allowed == name))
    }
}

impl KeyNames {
    /// Returns the places that a level's `options` name.
    pub(super) fn of_options(options: &Value) -> Result<KeyNames, Arc<str>> {
        let text = |key: String| match options.get(&key) {
            None | Some(Value::Undef | Value::Boolean(false)) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.to_arc())),
            Some(other) => Err(Arc::from(format!("no implicit conversion of {} into String", other.class_name()))),
        };
        let name = |kind: &str, may_lack: bool| {
            let file = text(format!("pkcs7_{kind}_key"))?;
            let plain = text(format!("pkcs7_{kind}_key_env_var"))?;
            let encoded = text(format!("pkcs7_b64_{kind}_key_env_var"))?;
            let is_base64 = plain.is_none() && encoded.is_some();
            let variable = plain.or(encoded);
            if file.is_none() && variable.is_none() && !may_lack {
                return Err(Arc::from(format!("pkcs7_{kind}_key is not defined")));
            }
            if variable.is_none() && file.as_deref() == Some("") {
                return Err(Arc::from("No such file or directory @ rb_sysopen - "));
            }
            Ok(KeyName { file, variable, is_base64 })
        };
        // Versions of hiera-eyaml that know base 64 decrypt without the certificate; earlier ones look for it first.
        let is_encoded = name("private", false).is_ok_and(|private| private.is_base64);
        let public = name("public", is_encoded)?;
        Ok(KeyNames { private: name("private", false)?, public })
    }
}

/// The reason why there is no key for a level.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoKey {
    /// No keys are wanted.
    NotWanted,
    /// These keys are not allowed; they are written as entries of the setting that would allow them.
    NotAllowed(Vec<String>),
    /// A key cannot be read.
    NotReadable,
}

impl NoKey {
    /// Returns the reason that the keys `names` are not allowed.
    pub(super) fn not_allowed(names: &KeyNames) -> NoKey {
        let entries = [&names.private, &names.public].into_iter().flat_map(|name| {
            let variable = name.variable.as_ref().map(|variable| format!("{VARIABLE_PREFIX}{variable}"));
            [name.file.as_ref().map(ToString::to_string), variable]
        });
        NoKey::NotAllowed(entries.flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> KeyName {
        KeyName { file: Some(path.into()), ..KeyName::default() }
    }

    #[test]
    fn only_what_the_list_names_is_allowed() {
        let allowed = AllowedKeys::parse(["/etc/eyaml/*.pem", "/srv/**", "env:KEY"]).unwrap();
        for (path, expected) in [
            ("/etc/eyaml/private.pem", true),
            ("/etc/eyaml/old/private.pem", false),
            ("/etc/eyaml/../shadow.pem", false),
            ("/srv/a/b/c", true),
            ("/srv/../etc/shadow", false),
            ("/dev/zero", false),
            ("private.pem", false),
        ] {
            assert_eq!(allowed.allows(&file(path)), expected, "{path}");
        }
        let variable = |name: &str, file: Option<&str>| KeyName {
            file: file.map(Into::into),
            variable: Some(name.into()),
            is_base64: true,
        };
        assert!(allowed.allows(&variable("KEY", None)));
        assert!(!allowed.allows(&variable("HOME", None)) && !allowed.allows(&variable("KEY", Some("/dev/zero"))));
        assert!(!AllowedKeys::default().allows(&file("/etc/eyaml/private.pem")));
        assert!(AllowedKeys::parse(["keys/*.pem"]).is_err() && AllowedKeys::parse(["/a/[x"]).is_err());
    }
}
