//! A URI, as Ruby's `URI` writes it.
//!
//! Source: Ruby 3.1's `uri/generic.rb` and the classes of its schemes.

use std::fmt;

use crate::value::Value;

/// A URI and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Uri {
    /// In lower case.
    pub scheme: Option<String>,
    /// The text before `@`.
    pub userinfo: Option<String>,
    /// The host, an IPv6 address in brackets.
    pub host: Option<String>,
    /// The port; the scheme's default port if none is given.
    pub port: Option<Value>,
    /// The path; `None` if there is an opaque part.
    pub path: Option<String>,
    /// The text after the scheme of a URI without a path.
    pub opaque: Option<String>,
    /// The text after `?`.
    pub query: Option<String>,
    /// The text after `#`.
    pub fragment: Option<String>,
}

/// The schemes that have their own Ruby class, with the name of the class and the default port.
const CLASSES: [(&str, &str, Option<i64>); 8] = [
    ("http", "HTTP", Some(80)),
    ("https", "HTTPS", Some(443)),
    ("ws", "WS", Some(80)),
    ("ftp", "FTP", Some(21)),
    ("file", "File", None),
    ("ldap", "LDAP", Some(389)),
    ("ldaps", "LDAPS", Some(636)),
    ("mailto", "MailTo", None),
];

impl Uri {
    /// Returns the path that the URI leads to; for FTP, relative to the folder of the login.
    pub fn effective_path(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        if self.scheme.as_deref() != Some("ftp") {
            return Some(path.to_owned());
        }
        let path = path.split_once(";type=").map_or(path, |(path, _)| path);
        let path = path.strip_prefix('/').unwrap_or(path);
        Some(path.strip_prefix("%2F").map_or_else(|| path.to_owned(), |rest| format!("/{rest}")))
    }

    fn class(&self) -> Option<&'static (&'static str, &'static str, Option<i64>)> {
        CLASSES.iter().find(|(scheme, ..)| Some(*scheme) == self.scheme.as_deref())
    }

    /// Returns the default port of the scheme, or `None` if it has none.
    pub fn default_port(&self) -> Option<i64> {
        self.class()?.2
    }

    /// Returns the name of its Ruby class.
    pub fn class_name(&self) -> String {
        format!("URI::{}", self.class().map_or("Generic", |class| class.1))
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(f, "{scheme}:")?;
        }
        if let Some(opaque) = &self.opaque {
            let is_mail = self.scheme.as_deref() == Some("mailto");
            let (to, headers) = opaque.split_once('?').filter(|_| is_mail).unwrap_or((opaque, ""));
            f.write_str(to)?;
            // Empty headers at the end are not written.
            match headers.trim_end_matches('&') {
                "" => {}
                headers => write!(f, "?{headers}")?,
            }
        } else {
            if self.host.is_some() || matches!(self.scheme.as_deref(), Some("file" | "postgres")) {
                f.write_str("//")?;
            }
            if let Some(userinfo) = &self.userinfo {
                write!(f, "{userinfo}@")?;
            }
            f.write_str(self.host.as_deref().unwrap_or_default())?;
            if let Some(port) =
                self.port.as_ref().filter(|port| self.default_port().map(Value::Integer) != Some((*port).clone()))
            {
                write!(f, ":{}", port.to_s())?;
            }
            f.write_str(self.path.as_deref().unwrap_or_default())?;
            if let Some(query) = &self.query {
                write!(f, "?{query}")?;
            }
        }
        match &self.fragment {
            Some(fragment) => write!(f, "#{fragment}"),
            None => Ok(()),
        }
    }
}
