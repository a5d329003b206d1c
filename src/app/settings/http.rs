//! Checks `http:`, the daemon's HTTP server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::delivery::Webhook;
use crate::forge::{ALL, Forge};
use crate::settings::source::SourceFile;
use crate::settings::{SettingsError, raw};

/// The default address.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8427);

/// The default time limit of a client, in seconds.
const DEFAULT_TIMEOUT: f64 = 10.0;

/// The longest time limit of a client, in seconds.
const MAX_TIMEOUT: f64 = 3600.0;

/// The daemon's HTTP server. Only the daemon reads the secrets.
#[derive(Debug, Clone)]
pub struct HttpSetting {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address at which others reach it, perhaps through a reverse proxy, for links in reports.
    pub url: Option<String>,
    /// The file with the token that clients must send.
    pub token_file: Option<PathBuf>,
    /// The files with the secrets of webhooks, by forge.
    pub webhook_secret_files: Vec<(&'static dyn Forge, PathBuf)>,
    /// The time limit for a client to send a request, and to read some of the answer.
    pub timeout: Duration,
}

impl Default for HttpSetting {
    fn default() -> HttpSetting {
        let timeout = Duration::from_secs_f64(DEFAULT_TIMEOUT);
        HttpSetting { listen: DEFAULT_LISTEN, url: None, token_file: None, webhook_secret_files: Vec::new(), timeout }
    }
}

impl HttpSetting {
    /// Returns the address for links to reports, or `None` if it is not known.
    pub fn url(&self) -> Option<String> {
        let is_known = !self.listen.ip().is_unspecified() && self.listen.port() != 0;
        self.url.clone().or_else(|| is_known.then(|| format!("http://{}/", self.listen)))
    }

    /// Fails if other machines could connect without a token.
    pub fn check(&self) -> Result<(), String> {
        if self.token_file.is_some() || self.listen.ip().is_loopback() {
            return Ok(());
        }
        let listen = self.listen;
        Err(format!("{listen} can be reached from other machines, so it needs a token: name its file in 'token_file'"))
    }
}

/// Parses an address with a port.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("'{text}' is not an address with a port, such as {DEFAULT_LISTEN}"))
}

pub(super) fn check(source: &SourceFile<'_>, raw: &raw::Http) -> Result<HttpSetting, SettingsError> {
    let wrong = |name: &str, text: &str| source.invalid(&["http", name], format!("'{name}' of 'http': {text}"));
    let file = |path: &String| source.folder.join(path);
    let raw::WebhookSecretFiles(secrets) = &raw.webhook_secret_files;
    let secrets = ALL.into_iter().filter_map(|forge| Some((forge, file(secrets.get(forge.name())?.as_ref()?))));
    let timeout = raw.timeout.unwrap_or(DEFAULT_TIMEOUT);
    if !(timeout > 0.0 && timeout <= MAX_TIMEOUT) {
        let text = format!("must be a number of seconds up to {MAX_TIMEOUT}, not {timeout}");
        return Err(wrong("timeout", &text));
    }
    let listen =
        raw.listen.as_deref().map_or(Ok(DEFAULT_LISTEN), listen_address).map_err(|text| wrong("listen", &text))?;
    let url = raw.url.clone();
    if let Some(url) = &url {
        Webhook::check(url).map_err(|error| wrong("url", &error.to_string()))?;
    }
    let setting = HttpSetting {
        listen,
        url,
        token_file: raw.token_file.as_ref().map(file),
        webhook_secret_files: secrets.collect(),
        timeout: Duration::from_secs_f64(timeout),
    };
    setting.check().map_err(|text| wrong("listen", &text))?;
    Ok(setting)
}

#[cfg(test)]
mod tests {
    use crate::app::settings::tests::refuses_trusted;

    #[test]
    fn faults_are_told_with_their_lines() {
        for (content, expected) in [
            (
                "http:\n  listen: 0.0.0.0:8427\n",
                "hierad.yaml:2: 'listen' of 'http': 0.0.0.0:8427 can be reached from other machines, so it needs a token",
            ),
            ("http: {listen: '[::]:1'}\n", "hierad.yaml:1: 'listen' of 'http': [::]:1 can be reached"),
            (
                "http:\n  listen: localhost\n",
                "hierad.yaml:2: 'listen' of 'http': 'localhost' is not an address with a port, such as 127.0.0.1:8427",
            ),
            ("http:\n  timeout: 0\n", "hierad.yaml:2: 'timeout' of 'http': must be a number of seconds"),
            ("http:\n  lsten: x\n", "hierad.yaml:2: http: unknown field `lsten`"),
            ("http: 8427\n", "hierad.yaml:1: http: invalid type: integer `8427`, expected a hash such as"),
            ("http:\n  webhook_secret_files: {gitlob: x}\n", "unknown field `gitlob`"),
        ] {
            refuses_trusted(content, expected);
        }
    }
}
