//! Puppet's own files on the machine, which show where its nodes are known.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::written::{PuppetDbFound, Source};
use crate::disk;

/// The folders of Puppet's configuration, and those of its server's data.
const CONFIGURATION: [&str; 2] = ["/etc/puppetlabs/puppet", "/etc/puppet"];
const DATA: [&str; 3] = ["/opt/puppetlabs/server/data/puppetserver", "/var/lib/puppetserver", "/var/lib/puppet"];

/// The files of `PuppetDB`'s command line tools, below the home folder and the root.
const TOOLS: [&str; 2] = [".puppetlabs/client-tools/puppetdb.conf", "/etc/puppetlabs/client-tools/puppetdb.conf"];

/// The folders in which code manager, r10k and g10k keep clones of modules, below the home folder and the root.
const CLONES: [&str; 4] =
    ["/opt/puppetlabs/server/data/code-manager", "/var/cache/r10k", "/var/cache/g10k", ".r10k/git"];

/// The settings of r10k, beside the folder of Puppet's configuration.
const R10K: &str = "../r10k/r10k.yaml";

/// The largest file that is read.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// Puppet's configuration on the machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The folders with `puppet.conf` and `puppetdb.conf`.
    configuration: Vec<PathBuf>,
    /// The folders in which a server keeps facts.
    data: Vec<PathBuf>,
    /// The files of `PuppetDB`'s command line tools.
    tools: Vec<PathBuf>,
    /// The folders in which clones of modules are kept unless a setting names another one.
    clones: Vec<PathBuf>,
}

impl Machine {
    /// The machine at hand.
    pub fn here() -> Machine {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        // Without a home folder, no file of the current folder is read, which may be a stranger's.
        let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let of_home =
            |names: &[&str]| names.iter().map(|name| home.join(name)).filter(|path| path.is_absolute()).collect();
        let (configuration, data) = (paths(&CONFIGURATION), paths(&DATA));
        Machine { configuration, data, tools: of_home(&TOOLS), clones: of_home(&CLONES) }
    }

    /// A machine on which Puppet's configuration is in this folder, and nothing elsewhere.
    pub fn with_configuration(folder: PathBuf) -> Machine {
        Machine { configuration: vec![folder], data: Vec::new(), tools: Vec::new(), clones: Vec::new() }
    }

    /// Returns the sources of nodes, the best first: `PuppetDB`, or else a server's cache of facts.
    pub fn sources(&self) -> Vec<Source> {
        let puppetdb = self.tools().or_else(|| self.configuration.iter().find_map(|folder| puppetdb(folder)));
        let cache = || self.data.iter().find(|folder| has_facts(folder)).cloned().map(Source::Cache);
        puppetdb.map(Source::PuppetDb).or_else(cache).into_iter().collect()
    }

    /// Returns the `hiera.yaml` of the global layer, if there is one.
    pub fn hiera_yaml(&self) -> Option<PathBuf> {
        self.configuration.iter().map(|folder| folder.join("hiera.yaml")).find(|path| path.is_file())
    }

    /// Returns the node classifier that `puppet.conf` names.
    pub fn classifier(&self) -> Option<PathBuf> {
        let settings = self.configuration.iter().map(|folder| read_ini(&folder.join("puppet.conf")));
        let classifier = |settings: BTreeMap<String, String>| {
            let is_used = settings.get("node_terminus").is_some_and(|terminus| terminus == "exec");
            settings.get("external_nodes").filter(|_| is_used).map(PathBuf::from)
        };
        settings.filter_map(classifier).find(|program| program.is_absolute() && program.is_file())
    }

    /// Returns the folder in which r10k keeps clones of modules.
    pub fn module_clones(&self) -> Option<PathBuf> {
        let configured = self.configuration.iter().filter_map(|folder| cache_folder(&folder.join(R10K)));
        configured.chain(self.clones.iter().cloned()).find(|folder| folder.is_absolute() && folder.is_dir())
    }

    /// Returns the `PuppetDB` that the command line tools use.
    fn tools(&self) -> Option<PuppetDbFound> {
        self.tools.iter().find_map(|path| {
            let content = disk::read_regular(path, MAX_FILE_SIZE).ok()?;
            let json: serde_json::Value = serde_json::from_slice(&content).ok()?;
            let puppetdb = json.get("puppetdb")?;
            let url = match puppetdb.get("server_urls")? {
                serde_json::Value::Array(urls) => urls.first()?.as_str()?.to_owned(),
                urls => urls.as_str()?.split(',').next()?.trim().to_owned(),
            };
            let file = |name: &str| puppetdb.get(name).and_then(|file| file.as_str()).map(PathBuf::from);
            Some(PuppetDbFound { url, cert: file("cert"), key: file("key"), ca: file("cacert"), query: None })
        })
    }
}

/// Returns the `PuppetDB` that Puppet uses, with the certificate of the machine.
fn puppetdb(folder: &Path) -> Option<PuppetDbFound> {
    let settings = read_ini(&folder.join("puppetdb.conf"));
    let url = match settings.get("server_urls") {
        Some(urls) => urls.split(',').next()?.trim().to_owned(),
        None => format!("https://{}:{}", settings.get("server")?, settings.get("port").map_or("8081", |port| port)),
    };
    let ssl = folder.join("ssl");
    let name = certname(folder, &ssl);
    let file = |subfolder: &str| {
        let path = ssl.join(subfolder).join(format!("{}.pem", name.as_deref()?));
        path.is_file().then_some(path)
    };
    let ca = Some(ssl.join("certs/ca.pem")).filter(|path| path.is_file());
    Some(PuppetDbFound { url, cert: file("certs"), key: file("private_keys"), ca, query: None })
}

/// Returns the name of the machine's certificate: that in `puppet.conf`, or that of the only certificate.
fn certname(folder: &Path, ssl: &Path) -> Option<String> {
    if let Some(name) = read_ini(&folder.join("puppet.conf")).remove("certname") {
        return Some(name);
    }
    let entries = fs::read_dir(ssl.join("certs")).ok()?.flatten();
    let names = entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".pem")?.to_owned()));
    let mut names: Vec<String> = names.filter(|name| name != "ca").collect();
    if names.len() == 1 { names.pop() } else { None }
}

/// Returns the `cachedir` in a settings file of r10k. Older files have a colon before each name.
fn cache_folder(settings: &Path) -> Option<PathBuf> {
    let content = disk::read_regular(settings, MAX_FILE_SIZE).ok()?;
    let folder = |line: &str| {
        let value = line.strip_prefix(':').unwrap_or(line).strip_prefix("cachedir:")?;
        Some(PathBuf::from(value.trim().trim_matches(['\'', '"'])))
    };
    String::from_utf8_lossy(&content).lines().find_map(folder)
}

/// Reads a file of Puppet's settings. Sections are ignored: if a setting occurs several times, the last one wins.
fn read_ini(path: &Path) -> BTreeMap<String, String> {
    let content = disk::read_regular(path, MAX_FILE_SIZE).unwrap_or_default();
    let content = String::from_utf8_lossy(&content);
    let pair = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    content.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(pair).collect()
}

fn has_facts(folder: &Path) -> bool {
    let is_full = |name: &str| fs::read_dir(folder.join(name)).is_ok_and(|mut entries| entries.next().is_some());
    is_full("yaml/facts") || is_full("server_data/facts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puppet_says_where_its_nodes_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let machine = Machine::with_configuration(folder.path().to_owned());
        assert!(machine.sources().is_empty() && machine.classifier().is_none());
        write(
            "puppetdb.conf",
            "[main]\n# server_urls = https://old\nserver_urls = https://db.example.com:8081,https://two\n",
        );
        let cert = write("ssl/certs/me.example.com.pem", "");
        let (ca, key) = (write("ssl/certs/ca.pem", ""), write("ssl/private_keys/me.example.com.pem", ""));
        let url = "https://db.example.com:8081".to_owned();
        let found = PuppetDbFound { url, cert: Some(cert), key: Some(key), ca: Some(ca), query: None };
        assert_eq!(machine.sources(), [Source::PuppetDb(found)]);
        let enc = write("enc", "");
        write("puppet.conf", &format!("[server]\nnode_terminus = exec\nexternal_nodes = {}\n", enc.display()));
        assert_eq!(machine.classifier(), Some(enc));
        let tools = write("tools.conf", r#"{"puppetdb": {"server_urls": ["https://other"], "cacert": "/ca"}}"#);
        let machine = Machine { tools: vec![tools], ..machine };
        let Some(Source::PuppetDb(found)) = machine.sources().pop() else { panic!() };
        assert_eq!((&*found.url, found.ca), ("https://other", Some(PathBuf::from("/ca"))));
    }

    #[test]
    fn a_servers_cache_serves_where_there_is_no_puppetdb() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine {
            configuration: Vec::new(),
            data: vec![folder.path().to_owned()],
            tools: Vec::new(),
            clones: Vec::new(),
        };
        fs::create_dir_all(folder.path().join("yaml/facts")).unwrap();
        assert_eq!(machine.sources(), []);
        fs::write(folder.path().join("yaml/facts/a.yaml"), "").unwrap();
        assert_eq!(machine.sources(), [Source::Cache(folder.path().to_owned())]);
    }
}
