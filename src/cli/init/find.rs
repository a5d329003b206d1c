//! Examines the repository and the machine, says what is found and what is guessed, and asks if there are several
//! possible answers.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Arguments, absolute, ask, print_row};
use crate::cli::{Global, Result};
use crate::disk::read_regular;
use crate::functions::bridge::ruby;
use crate::git::{Repository, RevisionError};
use crate::hiera::layer::roots::Folders;
use crate::hiera::layer::{Deployment, HIERA_YAML, PUPPETFILE};
use crate::inventory::files::check_there;
use crate::puppet::manifest::LookedUp;
use crate::puppet::{Puppet, Ruby};
use crate::report::count;
use crate::setup::{
    self, CallFound, Found, Functions, Guessed, Hierarchy, Machine, Mapped, ProfilesFound, PuppetDbFound, SitePpFound,
    Source, VariableFound,
};
use crate::tree::{FileTree, files_called};

/// The prefix of references to the origin's branches, and the usual names of a default branch.
const ORIGIN: &str = "refs/remotes/origin/";
const DEFAULT_BRANCHES: [&str; 3] = ["production", "main", "master"];

/// Finds what the settings of a repository need.
pub(super) struct Finder<'a> {
    pub(super) global: &'a Global,
    pub(super) arguments: &'a Arguments,
    pub(super) repository: &'a Repository,
    pub(super) top: &'a Path,
    pub(super) out: &'a mut dyn Write,
}

impl Finder<'_> {
    /// Returns everything that was found.
    pub(super) fn find(mut self) -> Result<Found> {
        self.global.overrides().profiles.iter().try_for_each(|path| check_there(path))?;
        let tree = self.tree()?;
        let (path, hierarchies) = self.hierarchies(&*tree)?;
        let datadirs = datadirs(&*tree, &hierarchies)?;
        let hierarchy = hierarchies.first().ok_or(NO_HIERA_YAML)?;
        self.print_datadirs(&*tree, &datadirs)?;
        let (puppet, ruby) = self.puppet()?;
        let functions = self.functions(&*tree, hierarchy)?;
        let overlays = self.overlays(&*tree, hierarchy, &datadirs)?;
        let (profiles, mut sources) = self.nodes()?;
        let guessed = if profiles.is_empty() && sources.is_empty() {
            sources.push(Source::Files(ProfilesFound { path: self.guessed_file(), are_factsets: false }));
            Some(self.guessed(&*tree, &by_environment(&path, &hierarchies), &datadirs)?)
        } else {
            None
        };
        let variables = self.variables(&*tree, hierarchy, &datadirs)?;
        let module_clones = self.module_clones(&*tree)?;
        let is_wanted = guessed.is_some() || sources.iter().any(|source| !matches!(source, Source::Files(_)));
        let site_pp = if is_wanted { self.site_pp(&*tree, hierarchy, &datadirs)? } else { None };
        let is_global = self.is_global(hierarchy);
        let path = Some(path);
        let (hiera_config, global_hiera_config) = if is_global { (None, path) } else { (path, None) };
        let hiera_config = hiera_config.filter(|path| path != HIERA_YAML);
        Ok(Found {
            hiera_config,
            global_hiera_config,
            puppet,
            ruby,
            datadirs,
            overlays,
            profiles,
            sources,
            guessed,
            site_pp,
            variables,
            functions,
            module_clones,
        })
    }

    /// Returns the folder with clones of the modules that a Puppetfile lists.
    fn module_clones(&mut self, tree: &dyn FileTree) -> Result<Option<PathBuf>> {
        let has_modules = !Deployment::read(tree, "")?.modules.is_empty();
        let found = self.machine().module_clones().filter(|_| has_modules);
        if let Some(folder) = &found {
            let text = format!("{} has clones of modules, which a {PUPPETFILE} brings", folder.display());
            self.print_row("modules", &text)?;
        }
        Ok(found)
    }

    /// Returns true for a hiera.yaml of the global layer; one that a flag names is the environment's.
    fn is_global(&self, hierarchy: &Hierarchy) -> bool {
        hierarchy.is_on_disk() || hierarchy.is_installed() && self.global.overrides().hiera_config.is_none()
    }

    /// Returns the release of the machine's Puppet, and its Ruby, if the settings must name them.
    fn puppet(&mut self) -> Result<(Option<Puppet>, Option<Ruby>)> {
        let versions = if self.arguments.no_verify { None } else { ruby::versions() };
        let Some((version, ruby_version)) = versions else { return Ok((None, None)) };
        let found = Puppet::of_version(&version);
        let puppet = Some(found).filter(|puppet| *puppet != Puppet::default());
        let ruby = Ruby::of_version(&ruby_version).filter(|ruby| *ruby != found.ruby());
        if puppet.is_some() || ruby.is_some() {
            let (name, number) = (found.name(), found.number());
            let on_ruby = ruby.map_or_else(String::new, |ruby| format!(" on Ruby {}", ruby.name()));
            let is_here = format!("{name} {version} on Ruby {ruby_version} is on this machine");
            self.print_row("version", &format!("{is_here}: answers are those of {name} {number}{on_ruby} (guessed)"))?;
        }
        Ok((puppet, ruby))
    }

    /// Returns the functions in Ruby that Puppet could run, if it is on this machine.
    fn functions(&mut self, tree: &dyn FileTree, hierarchy: &Hierarchy) -> Result<Functions> {
        let names = if ruby::has_puppet() { setup::functions(tree, hierarchy)? } else { Vec::new() };
        if names.is_empty() {
            return Ok(Functions::default());
        }
        let revision = self.default_branch()?;
        let code = match &revision {
            Some(branch) => format!("the code of {branch} (guessed)"),
            None => "the code of the default branch".to_owned(),
        };
        let in_ruby = format!("{} in Ruby", names.join(", "));
        let could_run = format!("{in_ruby}: Puppet on this machine could run them");
        let is_run = if self.arguments.run_code {
            self.print_row("functions", &format!("{in_ruby}: Puppet on this machine runs them, with {code}"))?;
            true
        } else if self.is_asking() {
            self.print_row("functions", &could_run)?;
            ask::confirm(&format!("Shall it, for hierad, with {code}?"), self.out)?
        } else {
            self.print_row("functions", &format!("{could_run}: --run-code, or the lines in .git/hierad.yaml"))?;
            false
        };
        Ok(Functions { names, revision, is_run })
    }

    /// Returns the most likely default branch of the origin, if the clone does not know it.
    fn default_branch(&self) -> Result<Option<String>> {
        if self.repository.resolve_trusted(&format!("{ORIGIN}HEAD")).is_ok() {
            return Ok(None);
        }
        let mut branches = self.repository.references(ORIGIN)?;
        branches.remove(&format!("{ORIGIN}HEAD"));
        if branches.len() > 1 {
            branches.retain(|name, _| DEFAULT_BRANCHES.iter().any(|usual| name.strip_prefix(ORIGIN) == Some(usual)));
        }
        let only = if branches.len() == 1 { branches.into_keys().next() } else { None };
        Ok(only.and_then(|name| Some(name.strip_prefix("refs/remotes/")?.to_owned())))
    }

    /// Returns the manifest whose node blocks set variables.
    fn site_pp(
        &mut self,
        tree: &dyn FileTree,
        hierarchy: &Hierarchy,
        datadirs: &[Mapped],
    ) -> Result<Option<SitePpFound>> {
        let found = setup::site_pp(tree, hierarchy, datadirs)?;
        if let Some(SitePpFound { file, variables, call }) = &found {
            let set = (!variables.is_empty()).then(|| variables.join(", "));
            let called = call.as_ref().map(|CallFound { pattern, separator, with_data, all }| {
                let separated =
                    if *separator == "::" { String::new() } else { format!(", with '{separator}' for '::'") };
                format!("{pattern}{separated} (guessed: {with_data} of {all} have data files)")
            });
            let all: Vec<String> = set.into_iter().chain(called).collect();
            self.print_row("variables", &format!("node blocks of {file}: {}", all.join("; ")))?;
        }
        Ok(found)
    }

    /// Returns the variables that manifests look up.
    fn variables(
        &mut self,
        tree: &dyn FileTree,
        hierarchy: &Hierarchy,
        datadirs: &[Mapped],
    ) -> Result<Vec<VariableFound>> {
        let found = setup::variables(tree, hierarchy, datadirs)?;
        for VariableFound { file, variable: LookedUp { variable, key } } in &found {
            self.print_row("variables", &format!("{file} looks up ${variable} by '{key}'"))?;
        }
        Ok(found)
    }

    /// Returns the files of the last commit or, before the first one, of the work tree.
    fn tree(&self) -> Result<Arc<dyn FileTree>> {
        match self.repository.resolve("HEAD") {
            Ok(head) => Ok(self.repository.with_submodules(Arc::new(self.repository.tree(head)?))?),
            Err(error @ RevisionError::Unborn { .. }) if error.names_a_branch() => {
                Err(format!("{error}, then run `hierad init` again").into())
            }
            Err(_) => {
                Err("there is no commit yet: commit hiera.yaml and the data, then run `hierad init` again".into())
            }
        }
    }

    fn print_row(&mut self, kind: &str, text: &str) -> std::io::Result<()> {
        print_row(self.out, kind, text)
    }

    fn is_asking(&self) -> bool {
        !self.arguments.yes && ask::is_possible()
    }

    /// Returns the path of the hiera.yaml for the settings, and the hierarchies that it stands for: more than one if
    /// there are several environments, with Puppet's default first.
    fn hierarchies(&mut self, tree: &dyn FileTree) -> Result<(String, Vec<Hierarchy>)> {
        let (mut all, refused) = setup::hierarchies(tree)?;
        for error in &refused {
            self.print_row("refused", &format!("{error}"))?;
        }
        let flag_path = self.global.overrides().hiera_config;
        let guessed =
            if all.first().is_some_and(|first| first.path == HIERA_YAML) { None } else { setup::of_environments(&all) };
        if let Some(path) = flag_path.clone().or(guessed).filter(|path| Folders::of(path).is_some()) {
            return self.environments(path, all);
        }
        if let Some(path) = flag_path {
            let at = all.iter().position(|hierarchy| hierarchy.path == path);
            let at = at.ok_or_else(|| format!("the last commit has no hiera.yaml at {path}"))?;
            return Ok((path, vec![all.swap_remove(at)]));
        }
        if let Some(hierarchy) = self.hierarchy_on_disk(all.is_empty())? {
            return Ok((hierarchy.path.clone(), vec![hierarchy]));
        }
        let is_clear = all.len() == 1 || all[0].path == HIERA_YAML;
        let paths: Vec<&str> = all.iter().map(|hierarchy| &*hierarchy.path).collect();
        let is_asked = !is_clear && self.is_asking();
        let question = "Which of these is the environment's hiera.yaml?";
        let at = if is_asked { ask::choose(question, &paths, self.out)? } else { 0 };
        let others: Vec<&str> =
            paths.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, path)| *path).collect();
        let levels = count(all[at].config.all_levels().count(), "level");
        let guessed = if is_clear || is_asked { "" } else { "guessed: " };
        let rest = match others.join(", ") {
            others if others.is_empty() => String::new(),
            others => format!(" ({guessed}others are {others}; --hiera-config takes one of them)"),
        };
        let layer =
            if self.is_global(&all[at]) { ", the global layer's, as a module installs it (guessed)" } else { "" };
        let text = format!("{}: version {}, {levels}{layer}{rest}", paths[at], all[at].config.version);
        self.print_row("hiera.yaml", &text)?;
        let chosen = all.swap_remove(at);
        Ok((chosen.path.clone(), vec![chosen]))
    }

    /// Returns the hierarchies of the environments at `path`.
    fn environments(&mut self, path: String, mut all: Vec<Hierarchy>) -> Result<(String, Vec<Hierarchy>)> {
        let folders = Folders::of(&path).ok_or(NO_HIERA_YAML)?;
        let name = |hierarchy: &Hierarchy| folders.name_of(&hierarchy.path).map(str::to_owned);
        all.retain(|hierarchy| name(hierarchy).is_some());
        all.sort_by_key(|hierarchy| (name(hierarchy).as_deref() != Some("production"), hierarchy.path.clone()));
        if all.is_empty() {
            return Err(format!("the last commit has no hiera.yaml at {path}").into());
        }
        let names: Vec<String> = all.iter().filter_map(name).collect();
        let guessed = if self.global.overrides().hiera_config.is_some() { "" } else { " (guessed)" };
        let text = format!("{path}: {}, {}{guessed}", count(names.len(), "environment"), names.join(", "));
        self.print_row("hiera.yaml", &text)?;
        Ok((path, all))
    }

    /// Returns the server's hiera.yaml, if a flag names it or the repository `has_none`.
    fn hierarchy_on_disk(&mut self, has_none: bool) -> Result<Option<Hierarchy>> {
        let flag_path = self.global.overrides().global_hiera_config.filter(|path| path != "none");
        let on_machine = || if has_none { self.machine().hiera_yaml() } else { None };
        let is_named = flag_path.is_some();
        let Some(path) = flag_path.map(|path| absolute(Path::new(&path))).or_else(on_machine) else {
            return if has_none { Err(NO_HIERA_YAML.into()) } else { Ok(None) };
        };
        let shown = path.display();
        let content = read_regular(&path, MAX_HIERA_YAML).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let found = setup::hierarchy_of(&path.to_string_lossy(), &content).map_err(|error| error.to_string())?;
        let Some(found) = found else {
            // This machine's file may be the one from Puppet's package.
            let text = format!("{shown} is not a hiera.yaml with levels");
            return Err(if is_named { text.into() } else { NO_HIERA_YAML.into() });
        };
        let levels = count(found.config.all_levels().count(), "level");
        self.print_row(
            "hiera.yaml",
            &format!("{shown}: version {}, {levels}, the global layer's", found.config.version),
        )?;
        Ok(Some(found))
    }

    /// Returns data of the work tree that is in no commit.
    fn overlays(
        &mut self,
        tree: &dyn FileTree,
        hierarchy: &Hierarchy,
        datadirs: &[Mapped],
    ) -> Result<Vec<(String, PathBuf)>> {
        let found = setup::overlays(tree, self.top, hierarchy, datadirs)?;
        for (place, real) in &found {
            self.print_row("data", &format!("{place} is in no commit, and on this machine: {}", real.display()))?;
        }
        Ok(found)
    }

    /// Returns the path of the file for guessed nodes.
    fn guessed_file(&self) -> PathBuf {
        self.repository.common_dir().join(GUESSED_NODES_FILE)
    }

    /// Guesses nodes from the data files.
    fn guessed(
        &mut self,
        tree: &dyn FileTree,
        hierarchies: &[(Option<&str>, &Hierarchy)],
        datadirs: &[Mapped],
    ) -> Result<Guessed> {
        let guessed = setup::guessed(tree, hierarchies, datadirs)?;
        let (all, named, others) = (count(guessed.count, "node"), guessed.named, guessed.count - guessed.named);
        let text = format!("{all} guessed from data files: {named} by files of nodes, {others} by others ({NO_NODES})");
        self.print_row("nodes", &text)?;
        Ok(guessed)
    }

    fn print_datadirs(&mut self, tree: &dyn FileTree, datadirs: &[Mapped]) -> Result<()> {
        let is_any = datadirs.iter().any(|mapped| mapped.folder.is_some());
        let files = if is_any { files_called(tree, |_| true, |_| false)? } else { Vec::new() };
        for Mapped { datadir, folder } in datadirs {
            let text = match folder {
                Some(folder) => {
                    let folder = if folder.is_empty() { "." } else { folder };
                    let is_in = |path: &&(String, _)| folder == "." || path.0.starts_with(&format!("{folder}/"));
                    let files = count(files.iter().filter(is_in).count(), "file");
                    format!("{datadir} is {folder} here, with {files} (guessed)")
                }
                None => format!("{datadir} is not in this repository: taken as empty"),
            };
            self.print_row("datadir", &text)?;
        }
        if datadirs.is_empty() {
            self.print_row("datadir", "all are where hiera.yaml says")?;
        }
        Ok(())
    }

    /// Returns the profiles in the tree, and other sources of nodes.
    fn nodes(&mut self) -> Result<(Vec<ProfilesFound>, Vec<Source>)> {
        let (profiles, mut sources) = self.named_by_flags();
        if !profiles.is_empty() || !sources.is_empty() {
            return Ok((profiles, sources));
        }
        let profiles = setup::profiles(self.top);
        for ProfilesFound { path, are_factsets } in &profiles {
            let what = if *are_factsets { "factsets, each a node called as its file" } else { "profiles" };
            self.print_row("nodes", &format!("{}: {what} (guessed by the first files)", path.display()))?;
        }
        let machine = self.machine();
        if profiles.is_empty() {
            sources = machine.sources();
        }
        for source in &sources {
            self.print_row("nodes", &format!("{}, which Puppet on this machine uses", in_words(source)))?;
        }
        if !sources.is_empty()
            && let Some(program) = machine.classifier()
        {
            self.print_row("nodes", &format!("the node classifier {}, which puppet.conf names", program.display()))?;
            sources.push(Source::Classifier(program));
        }
        if profiles.is_empty() && sources.is_empty() && self.is_asking() {
            sources = self.ask_for_sources()?;
        }
        Ok((profiles, sources))
    }

    /// Returns the profiles and sources that the flags name.
    fn named_by_flags(&self) -> (Vec<ProfilesFound>, Vec<Source>) {
        let (mut inside, mut sources) = (Vec::new(), Vec::new());
        let top = self.top.canonicalize().unwrap_or_else(|_| self.top.to_owned());
        for path in self.global.overrides().profiles {
            let path = absolute(&path);
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let profiles = |path: &Path| ProfilesFound::at(self.top, path);
            match real.strip_prefix(&top) {
                Ok(path) if !path.starts_with(".git") => inside.push(profiles(path)),
                _ => sources.push(Source::Files(profiles(&path))),
            }
        }
        sources.extend(self.arguments.puppetdb().map(Source::PuppetDb));
        sources.extend(self.arguments.puppet_cache.as_deref().map(|folder| Source::Cache(absolute(folder))));
        sources.extend(self.arguments.enc.as_deref().map(|program| Source::Classifier(absolute(program))));
        (inside, sources)
    }

    fn machine(&self) -> Machine {
        match &self.arguments.puppet_config {
            Some(folder) => Machine::with_configuration(absolute(folder)),
            None => Machine::here(),
        }
    }

    /// Asks where the nodes are.
    fn ask_for_sources(&mut self) -> Result<Vec<Source>> {
        let question = "Where are the nodes? The address of a PuppetDB, or a file or folder of facts: ";
        let answer = ask::line(question, self.out)?;
        Ok(match answer.as_str() {
            "" => Vec::new(),
            url if url.starts_with("http://") || url.starts_with("https://") => {
                vec![Source::PuppetDb(PuppetDbFound { url: url.to_owned(), ..PuppetDbFound::default() })]
            }
            path => vec![Source::Files(ProfilesFound::at(self.top, &absolute(Path::new(path))))],
        })
    }
}

/// Returns the datadirs of the hierarchies that are not where hiera.yaml says, each once.
fn datadirs(tree: &dyn FileTree, hierarchies: &[Hierarchy]) -> Result<Vec<Mapped>> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for hierarchy in hierarchies {
        let mapped = setup::datadirs(tree, hierarchy)?.into_iter();
        found.extend(mapped.filter(|mapped| known.insert(mapped.datadir.clone())));
    }
    Ok(found)
}

/// Returns the hierarchies in use, each with the name of its environment if there are several at `path`.
fn by_environment<'h>(path: &'h str, hierarchies: &'h [Hierarchy]) -> Vec<(Option<&'h str>, &'h Hierarchy)> {
    match Folders::of(path) {
        Some(folders) => hierarchies.iter().map(|hierarchy| (folders.name_of(&hierarchy.path), hierarchy)).collect(),
        None => hierarchies.iter().take(1).map(|hierarchy| (None, hierarchy)).collect(),
    }
}

fn in_words(source: &Source) -> String {
    match source {
        Source::Files(ProfilesFound { path, .. }) => path.display().to_string(),
        Source::PuppetDb(found) => format!("PuppetDB at {}", found.url),
        Source::Cache(folder) => format!("the cache in {}", folder.display()),
        Source::Classifier(program) => format!("the node classifier {}", program.display()),
    }
}

/// The file for guessed nodes, in the git directory.
pub(super) const GUESSED_NODES_FILE: &str = "hierad-guessed-nodes.yaml";

/// The maximum size of a hiera.yaml on disk, in bytes.
const MAX_HIERA_YAML: u64 = 8 << 20;

/// The advice for a repository without nodes.
const NO_NODES: &str = "--profiles PATH names files or a folder of facts, --puppetdb URL a PuppetDB, --puppet-cache DIR \
the caches of a server";

/// The error for a repository without a hiera.yaml.
const NO_HIERA_YAML: &str = "no hiera.yaml is in the last commit. If this repository has data alone, name the hiera.yaml \
of the Puppet server, or a copy of it: --global-hiera-config FILE";
