//! The flags of every command.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::Result;
use super::progress::{Progress, Shown};
use crate::app::{Overrides, Workspace};
use crate::git::BranchName;
use crate::hiera::Reader;
use crate::node::ProfileError;
use crate::pipeline::{Pipeline, RevisionId};
use crate::puppet::Puppet;

/// The flags of every subcommand, and the line on the terminal that they share. Those that are rare, or settings as
/// well, are only in `hierad help options`; the short help of the program has none.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_field_names, reason = "the name of the flag")]
#[expect(clippy::struct_excessive_bools, reason = "flags are")]
pub(super) struct Global {
    /// The data repository, or a folder inside it
    #[arg(long, short = 'C', global = true, hide_short_help = true, value_name = "DIR")]
    pub(super) repo: Option<PathBuf>,
    /// Settings that count name the repository
    #[arg(long, global = true, hide = true)]
    repo_is_trusted: bool,
    /// The settings file [default: hierad.yaml in the git directory, of the user or of the system, and the one beside
    /// the data as far as it is trusted]
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE", env = "HIERAD_CONFIG", hide_env_values = true,
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    config: Option<PathBuf>,
    /// Node profiles: a file, a folder or a glob; may be repeated
    #[arg(long, global = true, hide_short_help = true, value_name = "PATH")]
    profiles: Vec<PathBuf>,
    /// The environment's hiera.yaml, inside the repository
    #[arg(long, global = true, hide_short_help = true, value_name = "PATH")]
    hiera_config: Option<String>,
    /// The global layer's hiera.yaml, on disk; or 'none'
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    global_hiera_config: Option<String>,
    /// Folders of modules, separated by ':': relative ones in the repository, absolute ones on disk
    #[arg(long, global = true, hide = true, value_name = "DIRS")]
    modulepath: Option<String>,
    /// The folders on disk that $basemodulepath stands for, separated by ':'
    #[arg(long, global = true, hide = true, value_name = "DIRS")]
    basemodulepath: Option<String>,
    /// The version of Puppet to behave as; 9 is OpenVox
    #[arg(long, global = true, hide_short_help = true, value_name = "7|8|9", hide_possible_values = true)]
    puppet: Option<PuppetVersion>,
    /// The version of Hiera to behave as: Hiera 3 by itself, or Puppet's Hiera 5 [default: by the form of hiera.yaml]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "3|5|auto|by-version",
        hide_possible_values = true
    )]
    hiera: Option<HieraVersion>,
    /// Number of threads [default: up to one per core]
    #[arg(long, global = true, hide = true, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// Read everything anew, and cache nothing for the next run
    #[arg(long, global = true, hide_short_help = true)]
    no_cache: bool,
    /// Size of the cache of parsed data in MiB, in memory and in the git directory [default: 256]
    #[arg(long, global = true, hide = true, value_name = "MIB")]
    cache_size: Option<u64>,
    /// The private key for all encrypted data, in place of those that hiera.yaml names
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    pkcs7_private_key: Option<PathBuf>,
    /// The certificate of that key
    #[arg(long, global = true, hide = true, value_name = "FILE", requires = "pkcs7_private_key")]
    pkcs7_public_key: Option<PathBuf>,
    /// Read no keys: encrypted values are compared by their ciphertext. For commits of strangers
    #[arg(long, global = true, hide_short_help = true, conflicts_with = "pkcs7_private_key")]
    no_keys: bool,
    /// Show secrets instead of their fingerprints
    #[arg(long, global = true, hide_short_help = true)]
    pub(super) show_secrets: bool,
    /// The key for fingerprints of secrets: a file, or 64 hexadecimal digits [default: a file in the user's data
    /// directory, created when it is first needed]
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "FILE",
        env = "HIERAD_FINGERPRINT_KEY",
        hide_env_values = true
    )]
    fingerprint_key: Option<String>,
    /// Log more; twice for everything
    #[arg(short, long, global = true, hide_short_help = true, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
    /// When to use colour
    #[arg(long, global = true, hide_short_help = true, value_name = "WHEN", default_value = "auto")]
    pub(super) color: Color,
    /// Show long reports without a pager
    #[arg(long, global = true, hide_short_help = true)]
    pub(super) no_pager: bool,
    #[arg(skip)]
    pub(super) progress: Progress,
    /// The folder with objects of the repository that are in quarantine.
    #[arg(skip)]
    quarantine: Option<PathBuf>,
    /// True if settings of the user and of the system are ignored.
    #[arg(skip)]
    is_isolated: bool,
}

impl Global {
    /// Returns the flags as overrides of the settings.
    pub(super) fn overrides(&self) -> Overrides {
        let flags = self.clone();
        Overrides {
            repo: flags.repo,
            repo_is_trusted: flags.repo_is_trusted,
            config: flags.config,
            profiles: flags.profiles,
            hiera_config: flags.hiera_config,
            global_hiera_config: flags.global_hiera_config,
            modulepath: flags.modulepath,
            basemodulepath: flags.basemodulepath,
            puppet: flags.puppet.map(Puppet::from),
            reader: flags.hiera.map(Reader::from),
            threads: flags.threads,
            no_cache: flags.no_cache,
            cache_size: flags.cache_size,
            pkcs7_private_key: flags.pkcs7_private_key,
            pkcs7_public_key: flags.pkcs7_public_key,
            no_keys: flags.no_keys,
            show_secrets: flags.show_secrets,
            fingerprint_key: flags.fingerprint_key,
            quarantine: flags.quarantine,
            is_isolated: flags.is_isolated,
            progress: Some(self.progress.listener()),
        }
    }

    /// Returns the first given flag that only affects commands that read data, or `None` if there is none.
    pub(super) fn of_data(&self) -> Option<&'static str> {
        let flags = self.overrides().given_flags();
        flags.into_iter().map(|(flag, _)| flag).find(|flag| !["--repo", "--repo-is-trusted", "--config"].contains(flag))
    }

    /// Returns the flags without `--profiles`, unless `--config` is given, so that the repository's own settings name
    /// them.
    pub(super) fn with_profiles_of_settings(&self) -> Global {
        let profiles = if self.config.is_some() { self.profiles.clone() } else { Vec::new() };
        Global { profiles, ..self.clone() }
    }

    /// Returns the flags for another repository, keeping only the colour and the threads.
    pub(super) fn confined_to(&self, repo: PathBuf, profiles: PathBuf) -> Global {
        let (color, threads) = (self.color, self.threads);
        Global { repo: Some(repo), profiles: vec![profiles], color, threads, is_isolated: true, ..Global::default() }
    }

    /// Returns the flags for the commits of strangers: no key is read, and no secret shown.
    pub(super) fn for_strangers(&self) -> Global {
        Global { no_keys: true, show_secrets: false, ..self.clone() }
    }

    /// Returns the flags for a repository with objects in quarantine.
    pub(super) fn with_quarantine(&self, quarantine: Option<PathBuf>) -> Global {
        Global { quarantine, ..self.clone() }
    }

    /// Returns texts that distinguish this configuration from others; empty if no flag does.
    pub(super) fn configuration(&self) -> Vec<String> {
        let path = |name: &str, path: &PathBuf| format!("{name}={}", path.display());
        let text = |name: &str, text: &String| format!("{name}={text}");
        let mut parts: Vec<String> = self.config.iter().map(|file| path("config", file)).collect();
        parts.extend(self.repo.iter().map(|folder| path("repo", folder)));
        parts.extend(self.profiles.iter().map(|file| path("profiles", file)));
        parts.extend(self.hiera_config.iter().map(|file| text("hiera_config", file)));
        parts.extend(self.global_hiera_config.iter().map(|file| text("global_hiera_config", file)));
        parts.extend(self.modulepath.iter().map(|folders| text("modulepath", folders)));
        parts.extend(self.basemodulepath.iter().map(|folders| text("basemodulepath", folders)));
        parts.extend(self.puppet.map(|version| format!("puppet={version:?}")));
        parts.extend(self.hiera.map(|version| format!("hiera={version:?}")));
        parts
    }

    /// Opens the workspace that the flags name, and prints which settings of the tree are ignored.
    pub(super) fn open(&self) -> Result<Workspace> {
        let workspace = Workspace::open(&self.overrides())?;
        for refusal in &workspace.refused {
            self.progress.print(&format_args!("hierad: {refusal}"));
        }
        Ok(workspace)
    }

    /// Shows the progress of the work until the returned guard is dropped, which must be before anything is printed.
    /// Nothing is shown if backends are commands, which may use the terminal themselves.
    pub(super) fn show_progress(&self, workspace: &Workspace) -> Option<Shown> {
        if workspace.runs_commands() { None } else { self.progress.show() }
    }

    /// Makes a pipeline for the `chosen` nodes, and prints the errors of profiles that cannot be read.
    pub(super) fn pipeline(
        &self,
        workspace: &Workspace,
        branch: Option<&BranchName>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Pipeline> {
        workspace.pipeline_for(branch, points, chosen, &|error| self.print_profile_error(error))
    }

    /// Prints the error of a profile that cannot be read.
    pub(super) fn print_profile_error(&self, error: &ProfileError) {
        self.progress.print(&format_args!("hierad: {error}"));
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PuppetVersion {
    #[value(name = "7")]
    V7,
    #[value(name = "8")]
    V8,
    #[value(name = "9")]
    V9,
}

impl From<PuppetVersion> for Puppet {
    fn from(version: PuppetVersion) -> Puppet {
        match version {
            PuppetVersion::V7 => Puppet::V7,
            PuppetVersion::V8 => Puppet::V8,
            PuppetVersion::V9 => Puppet::V9,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HieraVersion {
    #[value(name = "3")]
    V3,
    #[value(name = "5")]
    V5,
    Auto,
    ByVersion,
}

impl From<HieraVersion> for Reader {
    fn from(version: HieraVersion) -> Reader {
        match version {
            HieraVersion::V3 => Reader::Hiera3,
            HieraVersion::V5 => Reader::Puppet,
            HieraVersion::Auto => Reader::Auto,
            HieraVersion::ByVersion => Reader::ByVersion,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}
