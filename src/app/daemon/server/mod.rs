//! The HTTP server that the settings ask for.

pub(in crate::app) mod alone;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::app::Result;
use crate::app::daemon::requests;
use crate::app::settings::{HttpSetting, Settings};
use crate::daemon::http::{Listener, Options, Server};
use crate::disk::read_token;

/// Overrides the address in the settings with the flag's.
pub(in crate::app::daemon) fn with_listen_address(
    mut settings: Settings,
    address: Option<SocketAddr>,
) -> Result<Settings> {
    if let Some(listen) = address {
        let setting = HttpSetting { listen, ..settings.http.unwrap_or_default() };
        setting.check().map_err(|text| format!("--listen: {text} of 'http' in hierad.yaml"))?;
        settings.http = Some(setting);
    }
    Ok(settings)
}

/// Returns the options of the server, with its secrets read, or `None` if the settings ask for no server.
pub(in crate::app) fn options(settings: &Settings) -> Result<Option<Options>> {
    let Some(setting) = &settings.http else { return Ok(None) };
    let read = |name: &str, path: &Path| read_token(path).map_err(|error| format!("'{name}' of 'http': {error}"));
    let token = setting.token_file.as_deref().map(|path| read("token_file", path)).transpose()?;
    let secrets = setting.webhook_secret_files.iter();
    let secret = |(forge, path): &(_, PathBuf)| Ok((*forge, read("webhook_secret_files", path)?));
    let webhook_secrets = secrets.map(secret).collect::<Result<_>>()?;
    Ok(Some(Options { listen: setting.listen, token, webhook_secrets, timeout: setting.timeout }))
}

/// Makes the server that the settings ask for, or returns `None` if they ask for none. Reuses `listener` if it has
/// the right address.
pub(in crate::app) fn server(settings: &Settings, listener: Option<Listener>) -> Result<Option<(Server, Listener)>> {
    let Some(options) = options(settings)? else { return Ok(None) };
    let listener = match listener.filter(|listener| listener.asked == options.listen) {
        Some(listener) => listener,
        None => Listener::bind(options.listen)?,
    };
    let mut server = Server::new(options, listener.clone());
    server.review(requests::projects(settings));
    Ok(Some((server, listener)))
}
