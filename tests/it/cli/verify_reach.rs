//! The files and the code that the Puppet of `hierad verify` reaches: those that hierad reads itself. These tests run
//! only where Puppet is installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use crate::support::Sandbox;
use crate::support::keys::{encrypted, key_file};
use crate::support::terminal::{Printed, hierad, run};

/// Settings of the tree that name a global layer in it.
const GLOBAL: &str = "profiles: [nodes]\nglobal_hiera_config: {path: global.yaml}\n";

/// Returns a site with a level `data/common.yaml`, or `None` if there is no Puppet here.
fn site() -> Option<Sandbox> {
    Command::new("puppet").arg("--version").output().ok()?;
    let site = Sandbox::new();
    site.write("hiera.yaml", hierarchy("{name: C, path: common.yaml}"));
    site.write("data/common.yaml", "leak: own\n");
    site.write("nodes/web01.yaml", "name: web01\n");
    Some(site)
}

fn hierarchy(levels: &str) -> String {
    format!("version: 5\ndefaults: {{datadir: data, data_hash: yaml_data}}\nhierarchy: [{levels}]\n")
}

fn verified(site: &Sandbox, what: &str, flags: &str) -> Printed {
    site.commit(what);
    site.hierad(&format!("verify --all {flags}"))
}

/// Returns a path as a name that leads there from any folder.
fn up(path: &Path) -> String {
    format!("{}{}", "../".repeat(20), path.display().to_string().trim_start_matches('/'))
}

/// A folder whose name has no capitals, as names of backends have none.
fn plain_folder() -> tempfile::TempDir {
    let name = format!("hierad_reach_{}_{:?}", std::process::id(), std::thread::current().id());
    let name: String =
        name.to_lowercase().chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '_').collect();
    tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir().unwrap()
}

#[test]
fn puppet_loads_nothing_that_a_tree_names() {
    let Some(site) = site() else { return };
    let code = plain_folder();
    let at = code.path().canonicalize().unwrap();
    let ran = at.join("ran");
    for kind in ["backend", "logger"] {
        std::fs::write(at.join(format!("evil_{kind}.rb")), format!("File.write({:?}, '')\n", ran.display())).unwrap();
    }
    // A library for the machine, which Ruby finds at a path without the ending.
    let native = at.join("native_backend.so");
    let source = at.join("native.c");
    let c = "#include <fcntl.h>\nvoid Init_native_backend(void) { open(RAN, O_CREAT | O_WRONLY, 0600); }\n";
    std::fs::write(&source, c.replace("RAN", &format!("{:?}", ran.display().to_string()))).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&native, &source]).status();
    assert!(compiled.is_ok_and(|status| status.success()));
    std::fs::copy(&native, site.root().join("native_backend.so")).unwrap();
    site.write("hierad.yaml", GLOBAL);
    let (evil, native) = (up(&at.join("evil")), up(&at.join("native")));
    let hiera3 = |name: &str, more: &str| {
        format!(":backends: ['{name}']\n{more}:hierarchy: [common]\n:yaml: {{:datadir: data}}\n")
    };
    for global in [
        hierarchy(&format!("{{name: E, hiera3_backend: '{evil}', path: common.yaml}}")),
        hierarchy(&format!("{{name: E, hiera3_backend: '{native}', path: common.yaml}}")),
        hierarchy(&format!(
            "{{name: E, hiera3_backend: '{}proc/self/cwd/native', path: common.yaml}}",
            "../".repeat(20)
        )),
        hierarchy(
            "{name: E, hiera3_backend: './../../../../../../../../../../../../proc/self/cwd/native', path: common.yaml}",
        ),
        hiera3(&evil, ""),
        hiera3(&native, ""),
        hiera3("other", &format!(":logger: '{evil}'\n")),
    ] {
        site.write("global.yaml", &global);
        let verified = verified(&site, "loads code", "");
        assert!(!ran.exists(), "{global}: {verified:#?}");
        // Some forms fail on both sides.
        assert!([0, 3].contains(&verified.status), "{global}: {verified:#?}");
    }
    // One that is of the installation, or of nobody, harms nothing.
    site.write("global.yaml", hierarchy("{name: E, hiera3_backend: nobodys, path: common.yaml}"));
    let verified = verified(&site, "a backend of nobody", "");
    assert!(verified.ok().contains("no disagreement") && !verified.out.contains("not compared"), "{verified:#?}");
}

/// Puts a gem with a backend for Hiera 3 that leaves the folder `ran` into a folder of gems.
fn gem(folder: &Path, ran: &Path) {
    let lib = folder.join("gems/evilgem-1.0/lib/hiera/backend");
    std::fs::create_dir_all(&lib).unwrap();
    std::fs::write(lib.join("evilgem_backend.rb"), format!("Dir.mkdir({:?})\n", ran.display())).unwrap();
    let gem = "# -*- encoding: utf-8 -*-\n# stub: evilgem 1.0 ruby lib\n\nGem::Specification.new { |s| s.name = 'evilgem'; \
               s.version = '1.0'; s.summary = 'x'; s.authors = ['x']; \
               s.files = ['lib/hiera/backend/evilgem_backend.rb']; s.require_paths = ['lib'] }\n";
    std::fs::create_dir_all(folder.join("specifications")).unwrap();
    std::fs::write(folder.join("specifications/evilgem-1.0.gemspec"), gem).unwrap();
}

#[test]
fn puppet_loads_no_gem_of_a_home_in_the_tree() {
    let Some(site) = site() else { return };
    let version = Command::new("ruby").args(["-e", "print RbConfig::CONFIG['ruby_version']"]).output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let ran = site.beside("ran");
    site.write("hierad.yaml", GLOBAL);
    site.write("global.yaml", hierarchy("{name: E, hiera3_backend: evilgem, path: common.yaml}"));
    for home in ["", "users/me", "share/.local"] {
        for gems in [".gem/ruby", ".local/share/gem/ruby", "share/gem/ruby", "gem/ruby"] {
            gem(&site.root().join(home).join(gems).join(&version), &ran);
        }
    }
    site.commit("gems");
    std::os::unix::fs::symlink(site.root(), site.beside("entry")).unwrap();
    let verify = |variables: &[(&str, &Path)]| {
        let mut command = hierad(site.root());
        let printed = run(command.args(["verify", "--all"]).envs(variables.iter().copied()));
        (std::fs::remove_dir(&ran).is_ok(), printed)
    };
    let (root, elsewhere) = (site.root().to_owned(), site.beside("home"));
    std::fs::create_dir(&elsewhere).unwrap();
    for variables in [
        &[("HOME", &*root)][..],
        &[("HOME", &*root.join("users/me"))],
        &[("HOME", &*site.beside("entry"))],
        &[("HOME", &*site.beside("entry/users/me"))],
        &[("HOME", &*elsewhere), ("XDG_DATA_HOME", &*root.join("share"))],
        &[("HOME", &*elsewhere), ("XDG_DATA_HOME", &*root)],
    ] {
        let (was_run, printed) = verify(variables);
        assert!(!was_run && printed.status == 0, "{variables:?}: {printed:#?}");
    }
    // Gems of a home elsewhere are of the installation. One that changes files by itself is stopped.
    gem(&elsewhere.join(".gem/ruby").join(&version), &ran);
    gem(&elsewhere.join(".local/share/gem/ruby").join(&version), &ran);
    let (was_run, printed) = verify(&[("HOME", &elsewhere)]);
    assert!(!was_run && format!("{printed:?}").contains("not compared"), "{printed:#?}");
}

#[test]
fn puppet_calls_no_function_of_its_own_that_hierad_lacks() {
    let Some(site) = site() else { return };
    let leak = site.beside("leak");
    std::fs::write(&leak, "TOPSECRET").unwrap();
    let of_kind =
        |kind: &'static str, names: &[&'static str]| names.iter().map(|name| (kind, *name)).collect::<Vec<_>>();
    let keys = of_kind("lookup_key", &["template", "inline_template", "file", "generate", "call", "lookup"]);
    for (kind, name) in [keys, of_kind("data_hash", &["file", "find_file"]), of_kind("data_dig", &["epp"])].concat() {
        site.write("hiera.yaml", hierarchy(&format!("{{name: F, {kind}: {name}}}, {{name: C, path: common.yaml}}")));
        site.write("data/common.yaml", format!("leak: own\n'{}': 1\n", leak.display()));
        let verified = verified(&site, "calls a function", "--profiles nodes");
        let said = format!("{verified:?}");
        assert!(!said.contains("TOPSECRET") && said.contains("2 are not compared"), "{kind} {name}: {verified:#?}");
    }
    site.write("hiera.yaml", hierarchy("{name: C, path: common.yaml}"));
    assert!(verified(&site, "calls none", "--profiles nodes").ok().contains("2 answers compared"));
}

#[test]
fn a_global_layer_of_the_tree_reads_the_tree() {
    let Some(site) = site() else { return };
    let disk = site.beside("disk").canonicalize().unwrap_or_else(|_| {
        std::fs::create_dir(site.beside("disk")).unwrap();
        site.beside("disk").canonicalize().unwrap()
    });
    std::fs::write(disk.join("leak.yaml"), "leak: TOPSECRET\n").unwrap();
    std::os::unix::fs::symlink(&disk, site.root().join("link")).unwrap();
    std::os::unix::fs::symlink(disk.join("leak.yaml"), site.root().join("data/link.yaml")).unwrap();
    let (at, up) = (disk.display(), up(&disk));
    let level = |level: String| (GLOBAL.to_owned(), hierarchy(&format!("{{name: G, {level}}}")));
    let datadir = |from: &str, to: &str| (format!("profiles: [nodes]\ndatadirs: {{{from}: {to}}}\n"), String::new());
    for (settings, global) in [
        level(format!("path: '{at}/leak.yaml'")),
        level(format!("datadir: '{at}', path: leak.yaml")),
        level(format!("datadir: '{up}', path: leak.yaml")),
        level(format!("path: '{up}/leak.yaml'")),
        level(format!("glob: '{at}/*.yaml'")),
        level("path: ../link/leak.yaml".to_owned()),
        level("path: link.yaml".to_owned()),
        (GLOBAL.to_owned(), format!(":backends: [yaml]\n:hierarchy: [leak]\n:yaml: {{:datadir: '{at}'}}\n")),
        datadir("data", "link"),
        datadir("/srv/data", "link"),
        datadir("data", "./link/."),
    ] {
        site.write("hierad.yaml", &settings);
        site.write("global.yaml", &global);
        let path = if settings.contains("datadirs") { "leak.yaml" } else { "common.yaml" };
        let from = if settings.contains("/srv") { "/srv/data" } else { "data" };
        site.write("hiera.yaml", hierarchy(&format!("{{name: C, path: {path}, datadir: {from}}}")));
        let verified = verified(&site, "reads the disk", "");
        let said = format!("{verified:?}");
        assert!(!said.contains("TOPSECRET") && !said.contains("disagreement\n  "), "{settings}{global}: {verified:#?}");
    }
    // What the user names is read: outside of the tree, by links and by absolute paths.
    std::fs::write(disk.join("hiera.yaml"), hierarchy(&format!("{{name: G, path: '{at}/leak.yaml'}}"))).unwrap();
    site.write("hierad.yaml", "profiles: [nodes]\n");
    site.write("hiera.yaml", hierarchy("{name: C, path: common.yaml}"));
    let verified = verified(&site, "nothing odd", &format!("--global-hiera-config {at}/hiera.yaml"));
    assert!(verified.ok().contains("1 answers compared") && verified.out.contains("no disagreement"), "{verified:#?}");
}

/// A file that tells if somebody reads it.
struct Probe {
    path: PathBuf,
    /// Set once a reader has opened it, for a pipe.
    opened: Option<Arc<AtomicBool>>,
}

impl Probe {
    /// Makes a pipe.
    fn pipe(path: PathBuf) -> Probe {
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let opened = Arc::new(AtomicBool::new(false));
        let (pipe, told) = (path.clone(), opened.clone());
        std::thread::spawn(move || {
            drop(std::fs::OpenOptions::new().write(true).open(pipe));
            told.store(true, Ordering::SeqCst);
        });
        Probe { path, opened: Some(opened) }
    }

    /// Makes a regular file. On a file system that keeps no time of access it tells nothing.
    fn regular(path: PathBuf, content: &str) -> Probe {
        std::fs::write(&path, content).unwrap();
        assert!(Command::new("touch").args(["-a", "-d", "2001-01-01"]).arg(&path).status().unwrap().success());
        Probe { path, opened: None }
    }

    fn is_opened(&self) -> bool {
        let new =
            || self.path.metadata().unwrap().accessed().unwrap() > UNIX_EPOCH + Duration::from_hours(24 * 365 * 32);
        self.opened.as_ref().map_or_else(new, |opened| opened.load(Ordering::SeqCst))
    }
}

#[test]
fn puppet_opens_no_file_that_a_tree_names() {
    let Some(site) = site() else { return };
    let probes = [Probe::pipe(site.beside("pipe")), Probe::regular(site.beside("probe.conf"), "leak = TOPSECRET\n")];
    let [(at, above), (file, above_file)] = probes.each_ref().map(|probe| {
        let at = probe.path.canonicalize().unwrap();
        (at.display().to_string(), up(&at))
    });
    let hocon = "{name: H, data_hash: hocon_data, path: a.conf}, {name: C, path: common.yaml}".to_owned();
    let include = |text: &str| ("data/a.conf", format!("{text}\nc = 1\n"), hocon.clone(), "");
    let secret = "s: ENC[PKCS7,MIIBeQYJKoZIhvcNAQcDoIIBajCCAWYCAQAxggEhMIIBHQIBADAFMAACAQEw]\n";
    let key = |private: &str, public: &str, flags| {
        let options = format!("options: {{pkcs7_private_key: '{private}', pkcs7_public_key: '{public}'}}");
        let level = format!("{{name: E, lookup_key: eyaml_lookup_key, path: e.eyaml, {options}}}");
        ("data/e.eyaml", secret.to_owned(), format!("{level}, {{name: C, path: common.yaml}}"), flags)
    };
    let there = key_file("default.key.pem").display().to_string();
    for (path, content, levels, flags) in [
        include(&format!("include file(\"{file}\")")),
        include(&format!("include required(file(\"{file}\"))")),
        include(&format!("include \"{file}\"")),
        include(&format!("include \"{above_file}\"")),
        include(&format!("x: {{include file(\"{file}\")}}")),
        key(&at, &at, ""),
        key(&at, &at, "--no-keys"),
        key(&above, &above, "--no-keys"),
        key(&format!("{there}/../../../../../../../../..{at}"), &at, ""),
    ] {
        site.write("hiera.yaml", hierarchy(&levels));
        site.write(path, &content);
        let verified = verified(&site, "opens files", &format!("--profiles nodes {flags}"));
        assert!(!probes.iter().any(Probe::is_opened), "{content} {levels} {flags}: {verified:#?}");
        assert!(!format!("{verified:?}").contains("TOPSECRET"), "{content}: {verified:#?}");
        assert!([0, 3].contains(&verified.status), "{content}: {verified:#?}");
    }
    // Keys that settings allow are read, by Puppet as by hierad.
    let (private, public) = (there, key_file("default.pub.pem").display().to_string());
    let (path, _, levels, _) = key(&private, &public, "");
    site.write("hiera.yaml", hierarchy(&levels));
    site.write(path, format!("s: {}\n", encrypted("hunter2", 1)));
    std::fs::remove_file(site.root().join("data/a.conf")).unwrap();
    let folder = Path::new(&private).parent().unwrap().display().to_string();
    for allowed in [format!("'{private}', '{public}'"), format!("'{folder}/*.pem'"), format!("'{folder}/**'")] {
        site.write(".git/hierad.yaml", format!("profiles: [../nodes]\neyaml: {{allowed_keys: [{allowed}]}}\n"));
        let verified = verified(&site, "allowed", "");
        assert!(verified.ok().contains("2 answers compared") && !verified.out.contains("hunter2"), "{verified:#?}");
    }
}

#[test]
fn names_that_are_not_utf8_are_not_in_the_way() {
    use std::os::unix::ffi::OsStrExt;
    let Some(site) = site() else { return };
    for names in [[b"\xff".as_slice(), b"\xfe"], [b"data/z\xff.yaml", b"data/z\xfe.yaml"], [b"d\xff/x", b"d\xfe/x"]] {
        for name in names {
            let path = site.root().join(std::ffi::OsStr::from_bytes(name));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "leak: 2\n").unwrap();
        }
        let verified = verified(&site, "names", "--profiles nodes");
        assert!(verified.ok().contains("1 answers compared"), "{verified:#?}");
    }
}
