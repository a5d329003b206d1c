//! The settings at the top level of `hierad.yaml`, a row for each.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::confine::{Refusal, Refused};
use super::origin::TreeFolder;
use super::raw::profiles::Profiles;
use super::raw::{
    Backend, Check, Eyaml, GlobalConfig, Http, Limits, OneOrMany, Policy, Repository, Review, Sink, Snapshots, Waiver,
};
use super::source::SourceFile;

/// Declares the settings at the top level, a row for each: its name, its form as written, and the rule that decides
/// if it applies from a file of the tree, which is a method of [`Refused`].
macro_rules! settings {
    ($($(#[$attribute:meta])* $name:ident: $form:ty => $rule:ident,)*) => {
        /// The whole file.
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default, expecting = "a hash of settings")]
        pub(crate) struct Settings {
            $($(#[$attribute])* pub(crate) $name: $form,)*
        }

        impl Settings {
            /// The names of all settings, each with its rule.
            pub(crate) const RULES: &[(&str, &str)] = &[$((stringify!($name), stringify!($rule)),)*];

            /// Returns the settings of a file of the tree that apply, and those that are refused.
            pub(crate) fn confined(self, source: &SourceFile<'_>, place: &TreeFolder) -> (Settings, Vec<Refusal>) {
                let mut refused = Refused::new(source, place);
                let settings = Settings { $($name: refused.$rule(stringify!($name), self.$name),)* };
                (settings, refused.refusals)
            }

            /// Returns the settings that say how the tree is read, without those that judge it and those that are
            /// only for whoever runs hierad.
            pub(crate) fn reading(self) -> Settings {
                let reads = |rule: &str| !matches!(rule, "judging" | "never");
                Settings { $($name: if reads(stringify!($rule)) { self.$name } else { Default::default() },)* }
            }
        }
    };
}

settings! {
    profiles: Profiles => profiles,
    hiera_config: Option<String> => tree,
    environment: Option<String> => tree,
    puppet: Option<u64> => tree,
    ruby: Option<String> => tree,
    hiera: Option<serde_yaml::Value> => tree,
    hiera3_yaml_aliases: bool => tree,
    global_hiera_config: Option<GlobalConfig> => global,
    modulepath: OneOrMany => modulepath,
    basemodulepath: OneOrMany => missed,
    module_clones: OneOrMany => missed,
    /// Parsed again as a data file is, since its values are data.
    lookup_options: Option<IgnoredAny> => tree,
    manifests: Option<bool> => tree,
    /// Read again, since their order matters.
    variables: Option<IgnoredAny> => tree,
    datadirs: BTreeMap<String, String> => datadirs,
    backends: BTreeMap<String, Backend> => backends,
    /// Names, by the codes of blind spots.
    accept: BTreeMap<String, OneOrMany> => judging,
    check: Check => judging,
    policies: Vec<Policy> => judging,
    waivers: Vec<Waiver> => judging,
    fingerprint_key: Option<String> => never,
    branches: OneOrMany => never,
    eyaml: Eyaml => missed,
    state: Option<String> => never,
    /// The time in days.
    keep_reports: Option<f64> => never,
    sinks: BTreeMap<String, Sink> => never,
    snapshots: BTreeMap<String, Snapshots> => never,
    http: Option<Http> => never,
    limits: Option<Limits> => never,
    repositories: BTreeMap<String, Repository> => never,
    reviews: Vec<Review> => never,
}

/// The settings that belong to the daemon rather than to one of its repositories.
pub(crate) const DAEMON_SETTINGS: [&str; 7] =
    ["repositories", "reviews", "state", "sinks", "snapshots", "http", "keep_reports"];
