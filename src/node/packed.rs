//! Packs node profiles into a compact form for caches: the values of all fields, in the order of the table.

use super::fields::FIELDS;
use super::{NodeProfile, Wanted};
use crate::value::{Packed, Unpacked, Value};

/// The maximum number of values in a packed profile.
const MAX_PARTS: usize = 100_000;

/// Packs the `wanted` values of profiles. Returns `None` if one of them cannot be packed.
pub fn pack<'p>(profiles: impl IntoIterator<Item = &'p NodeProfile>, wanted: &Wanted) -> Option<Vec<u8>> {
    let packed = |profile: &NodeProfile| {
        let values: Vec<Value> = FIELDS.iter().map(|field| wanted.of_field(field, profile)).collect();
        let mut parts = MAX_PARTS;
        let packed: Option<Vec<_>> = values.iter().map(|value| Packed::of(value, &mut parts)).collect();
        postcard::to_allocvec(&packed?).ok()
    };
    let packed: Vec<Vec<u8>> = profiles.into_iter().map(packed).collect::<Option<_>>()?;
    Some(packed.concat())
}

/// Returns the profiles that were packed, or `None` if the bytes are not packed profiles.
pub fn unpack(mut bytes: &[u8]) -> Option<Vec<NodeProfile>> {
    let mut profiles = Vec::new();
    while !bytes.is_empty() {
        let (values, rest): (Vec<Unpacked>, _) = postcard::take_from_bytes(bytes).ok()?;
        let mut profile = NodeProfile::default();
        if values.len() != FIELDS.len() {
            return None;
        }
        for (field, Unpacked(value)) in FIELDS.iter().zip(values) {
            field.keep(&mut profile, value)?;
        }
        profiles.push(profile);
        bytes = rest;
    }
    Some(profiles)
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
