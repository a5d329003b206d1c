//! Packs node profiles into a compact form for caches.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Catalog, Names, NodeProfile, Wanted};
use crate::value::{Hash, Packed, Unpacked, Value};

/// A profile with its facts, trusted facts, variables and server facts, each of them a `V`.
#[derive(Serialize, Deserialize)]
struct PackedProfile<'a, V> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    environment: Cow<'a, str>,
    facts: V,
    trusted: V,
    variables: V,
    server_facts: Option<V>,
    time: Option<i64>,
    /// The names, as one text.
    #[serde(borrow)]
    catalog_classes: Option<Cow<'a, str>>,
    #[serde(borrow)]
    catalog_keys: Option<Cow<'a, str>>,
    #[serde(borrow)]
    given: Option<Cow<'a, str>>,
    is_guessed: bool,
}

/// The largest number of values in a profile that is packed.
const MAX_PARTS: usize = 100_000;

/// Packs the `wanted` values of profiles. Returns `None` if one of them cannot be packed.
pub fn pack<'p>(profiles: impl IntoIterator<Item = &'p NodeProfile>, wanted: &Wanted) -> Option<Vec<u8>> {
    let packed = |profile: &NodeProfile| {
        let values = values(profile, wanted);
        let mut parts = MAX_PARTS;
        let [facts, trusted, variables, server_facts] = values.each_ref().map(|value| Packed::of(value, &mut parts));
        postcard::to_allocvec(&PackedProfile {
            name: Cow::Borrowed(&profile.name),
            environment: Cow::Borrowed(&profile.environment),
            facts: facts?,
            trusted: trusted?,
            variables: variables?,
            server_facts: if profile.server_facts.is_some() { Some(server_facts?) } else { None },
            time: profile.time,
            catalog_classes: profile.catalog.classes.as_ref().map(|classes| classes.text().into()),
            catalog_keys: profile.catalog.keys.as_ref().map(|keys| keys.text().into()),
            given: profile.given.as_ref().map(|keys| keys.text().into()),
            is_guessed: profile.is_guessed,
        })
        .ok()
    };
    let packed: Vec<Vec<u8>> = profiles.into_iter().map(packed).collect::<Option<_>>()?;
    Some(packed.concat())
}

fn values(profile: &NodeProfile, wanted: &Wanted) -> [Value; 4] {
    let server_facts = profile.server_facts.clone().unwrap_or_default();
    [
        wanted.of_variables(profile.facts.clone()),
        wanted.of_trusted(&profile.trusted),
        wanted.of_variables(Arc::new(profile.variables.clone())),
        Value::hash(server_facts),
    ]
}

/// Returns the profiles that were packed, or `None` if the bytes are not packed profiles.
pub fn unpack(mut bytes: &[u8]) -> Option<Vec<NodeProfile>> {
    let mut profiles = Vec::new();
    while !bytes.is_empty() {
        let (packed, rest): (PackedProfile<'_, Unpacked>, _) = postcard::take_from_bytes(bytes).ok()?;
        profiles.push(packed.profile()?);
        bytes = rest;
    }
    Some(profiles)
}

impl PackedProfile<'_, Unpacked> {
    fn profile(self) -> Option<NodeProfile> {
        let hash = |Unpacked(value)| if let Value::Hash(hash) = value { Some(hash) } else { None };
        let owned = |unpacked| Some(Arc::unwrap_or_clone(hash(unpacked)?));
        let server_facts: Option<Option<Hash>> = self.server_facts.map(owned);
        Some(NodeProfile {
            name: self.name.as_ref().into(),
            environment: self.environment.as_ref().into(),
            facts: hash(self.facts)?,
            trusted: hash(self.trusted)?,
            variables: owned(self.variables)?,
            server_facts: match server_facts {
                None => None,
                Some(hash) => Some(hash?),
            },
            time: self.time,
            is_guessed: self.is_guessed,
            catalog: Catalog {
                classes: self.catalog_classes.map(|text| Names::of_text(&text)),
                keys: self.catalog_keys.map(|text| Names::of_text(&text)),
            },
            given: self.given.map(|text| Names::of_text(&text)),
            ..NodeProfile::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::read_profiles;

    #[test]
    fn packed_profiles_have_what_is_wanted() {
        let text = "{\"name\": \"a\", \"facts\": {\"os\": {\"family\": \"Debian\", \"name\": 1.5}, \"x\": 1}, \"variables\": {\"role\": \"web\"}}\n{\"name\": \"b\", \"server_facts\": {\"serverversion\": \"8\"}, \"catalog_classes\": [\"ntp\"], \"catalog_keys\": [\"k\", \"l\"], \"classes\": {\"ntp\": {\"x\": 1}}}\n";
        let (profiles, _) = read_profiles(text.as_bytes(), "p.ndjson", "production");
        let whole = unpack(&pack(&profiles, &Wanted::whole()).unwrap()).unwrap();
        assert_eq!(whole, profiles);
        let mut wanted = Wanted::default();
        wanted.add("facts", &["os".into(), "family".into()]);
        let part = unpack(&pack(&profiles, &wanted).unwrap()).unwrap();
        let facts: Vec<String> = part.iter().map(|profile| format!("{:?}", profile.facts)).collect();
        let (expected, _) =
            read_profiles(b"{\"name\": \"a\", \"facts\": {\"os\": {\"family\": \"Debian\"}}}", "p.json", "");
        assert_eq!(facts[0], format!("{:?}", expected[0].facts));
        assert!(part[0].variables.is_empty() && part[0].trusted.is_empty());
        assert_eq!(part[1].server_facts, profiles[1].server_facts);
        assert!(unpack(b"nonsense").is_none());
    }
}
