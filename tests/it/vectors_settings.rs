//! The variables that the class `settings` has in the real Puppet 7 and 8: `tests/vectors/settings.json`, recorded by
//! `tests/puppet/record_settings.rb`. What they are is for the server to say.

use hierad::hiera::scope::{NodeScope, Scope, Variable};
use hierad::node::NodeProfile;
use hierad::puppet::json;
use hierad::value::Value;

#[test]
fn puppets_settings_are_known() {
    let recorded = json::parse(include_bytes!("../vectors/settings.json")).value;
    let profile = NodeProfile::default();
    let scope = NodeScope::new(&profile);
    for field in ["puppet7", "puppet8"] {
        let names = recorded.get(field).and_then(Value::as_array).expect("names");
        assert!(names.len() > 200, "{field}");
        // These two are what any class has.
        let is_setting = |name: &&str| !matches!(*name, "name" | "title");
        for name in names.iter().filter_map(Value::as_str).filter(is_setting) {
            for prefix in ["settings", "::settings", "::::settings", "Settings"] {
                let found = scope.variable(&format!("{prefix}::{name}"));
                assert_eq!(found, Variable::Unknown, "{prefix}::{name}");
            }
            let other = scope.variable(&format!("settings::{name}_"));
            assert_eq!(other, Variable::Undefined { name: format!("::settings::{name}_"), reason: String::new() });
        }
    }
}
