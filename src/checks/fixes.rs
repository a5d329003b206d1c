//! The remedies for faults, by their codes.

/// Returns the remedy for a fault, given its code.
pub(super) fn fix_of(code: &str) -> &'static str {
    match code {
        "absent-key" => {
            "correct the name, or give the key a value; ignore this if a module or function elsewhere has \
         it"
        }
        "absent-module" => {
            "name the folder of modules with 'modulepath', or accept it in hierad.yaml: accept: {absent-module: [\"*\"]}"
        }
        "data-syntax" => "correct the file: no lookup that reads it succeeds",
        "data-no-hash" => "put KEY: VALUE pairs into it, or remove it",
        "environment-conf" => "remove what Puppet ignores from environment.conf",
        "eyaml-no-key" => {
            "name the private key in .git/hierad.yaml: eyaml: {pkcs7_private_key: FILE, pkcs7_public_key: FILE}"
        }
        "hiera-3" => "say in hierad.yaml what reads the repository: hiera: 3, or hiera: 5",
        "hiera-version-3" => {
            "convert it to version 5, or name it as the global layer's: global_hiera_config: {path: FILE}"
        }
        "module-metadata" => "correct the module's metadata.json",
        "module-repository" => {
            "ignore this if it is a module; an environment has an environment.conf or a Puppetfile beside its \
             hiera.yaml"
        }
        "modulepath" => "ignore this if it is deployed from elsewhere; else correct the modulepath in environment.conf",
        "modules-outside" => "add their folder to hierad.yaml, if they have data of their own: basemodulepath: [DIR]",
        "no-global-hiera-yaml" => "correct global_hiera_config in hierad.yaml, or set it to none",
        "no-hiera-yaml" => "name it with --hiera-config FILE, or in hierad.yaml: hiera_config: FILE",
        "no-keys" => "see that the datadirs in hiera.yaml are folders of this repository",
        "no-profiles" => "name them with --profiles PATH, or in hierad.yaml: profiles: [PATH]",
        "outside-repository" => "map it in hierad.yaml, with 'datadirs', to the folder that has it or to none",
        "profile" => "correct the profile: its node is left out of every answer",
        "unaskable-key" => "rename or remove it; ignore this if a function of your own reads it",
        "unknown-value" => "give hierad what it lacks: a fact in the profiles, a key, or a backend in hierad.yaml",
        _ => "correct the data or hiera.yaml at this place",
    }
}
