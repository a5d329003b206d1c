//! Objects in packs that are changes to others: what is read for one is looked at first.

use std::path::Path;

use sha1::{Digest as _, Sha1};

use crate::support::Sandbox;

/// A mebibyte.
const MIB: u64 = 1 << 20;

/// A file whose value is another than before.
const CHANGED: &[u8] = b"a: 2\n";

/// A pack as nobody's git makes it, but as each reads it.
struct Pack {
    bytes: Vec<u8>,
    objects: Vec<([u8; 20], u32)>,
}

/// The object that a change is made to.
#[derive(Clone, Copy)]
enum To {
    /// By its place in the pack.
    Place(usize),
    Id([u8; 20]),
}

impl Pack {
    fn new() -> Pack {
        Pack { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), objects: Vec::new() }
    }

    /// Begins an object of a type, or a change, of this size. Returns its place.
    fn begin(&mut self, id: [u8; 20], kind: u8, size: u64) -> usize {
        let at = self.bytes.len();
        self.objects.push((id, u32::try_from(at).unwrap()));
        let (mut byte, mut rest) = (kind << 4 | (size & 15) as u8, size >> 4);
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            (byte, rest) = ((rest & 0x7f) as u8, rest >> 7);
        }
        self.bytes.push(byte);
        at
    }

    /// Adds an object of so many mebibytes, all zeros.
    fn zeros(&mut self, kind: &str, count: u64) -> usize {
        let at = self.begin([1; 20], if kind == "blob" { 3 } else { 2 }, count * MIB);
        let mut deflate = flate2::Compress::new(flate2::Compression::new(9), true);
        let zeros = vec![0; usize::try_from(MIB).unwrap()];
        let mut part = Vec::with_capacity(8192);
        deflate.compress_vec(&zeros, &mut part, flate2::FlushCompress::Full).unwrap();
        self.bytes.extend(&part);
        // The same once more, without the head.
        (1..count).for_each(|_| self.bytes.extend(&part[2..]));
        let sum = u32::try_from(count * MIB % 65521).unwrap() << 16 | 1;
        self.bytes.extend([&[3, 0][..], &sum.to_be_bytes()].concat());
        at
    }

    /// Adds a change to an object of `old` bytes, which makes one of `new` bytes by these instructions.
    fn change(&mut self, id: [u8; 20], to: To, (old, new): (u64, u64), instructions: &[u8]) -> usize {
        let change = [&number(old)[..], &number(new), instructions].concat();
        let at = self.begin(id, if matches!(to, To::Id(_)) { 7 } else { 6 }, change.len() as u64);
        match to {
            To::Id(id) => self.bytes.extend(id),
            To::Place(base) => self.bytes.extend(distance(at - base)),
        }
        let mut packed = Vec::with_capacity(change.len() + 1000);
        let mut deflate = flate2::Compress::new(flate2::Compression::new(9), true);
        deflate.compress_vec(&change, &mut packed, flate2::FlushCompress::Finish).unwrap();
        self.bytes.extend(packed);
        at
    }

    /// Adds an object with this content, as a change to one of `old` bytes.
    fn made(&mut self, kind: &str, content: &[u8], to: To, old: u64) -> String {
        let mut sha = Sha1::new();
        sha.update(format!("{kind} {}\0", content.len()));
        sha.update(content);
        let id: [u8; 20] = sha.finalize().into();
        let instructions = [&[u8::try_from(content.len()).unwrap()], content].concat();
        self.change(id, to, (old, content.len() as u64), &instructions);
        let digits: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.concat()
    }

    /// Writes the pack and its index.
    fn write(mut self, objects: &Path) {
        let count = u32::try_from(self.objects.len()).unwrap();
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let sum = Sha1::digest(&self.bytes);
        self.bytes.extend(sum);
        self.objects.sort_unstable();
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for byte in 0..=u8::MAX {
            let upto = self.objects.iter().filter(|(id, _)| id[0] <= byte).count();
            index.extend(u32::try_from(upto).unwrap().to_be_bytes());
        }
        self.objects.iter().for_each(|(id, _)| index.extend(id));
        index.extend(vec![0; 4 * self.objects.len()]);
        self.objects.iter().for_each(|(_, at)| index.extend(at.to_be_bytes()));
        index.extend(sum);
        let own = Sha1::digest(&index);
        index.extend(own);
        let folder = objects.join("pack");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("pack-odd.pack"), &self.bytes).unwrap();
        std::fs::write(folder.join("pack-odd.idx"), index).unwrap();
    }
}

/// A number as changes have it.
fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
    bytes
}

/// A distance as changes have it.
fn distance(distance: usize) -> Vec<u8> {
    let mut distance = distance as u64;
    let mut bytes = vec![(distance & 0x7f) as u8];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        bytes.insert(0, (distance & 0x7f) as u8 | 0x80);
    }
    bytes
}

/// Instructions that copy a mebibyte, so many times.
fn copies(count: u64) -> Vec<u8> {
    [0x80 | 0x40, 0x10].repeat(usize::try_from(count).unwrap())
}

fn site() -> Sandbox {
    let site = Sandbox::of(
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: c.yaml}]\n-- data/c.yaml\na: 1\n-- nodes/n.yaml\n{name: n}\n",
    );
    site.git(["config", "gc.auto", "0"]);
    site
}

/// Commits an object in place of a file or folder, as far as git does not look at it.
fn commit(site: &Sandbox, kind: &str, id: &str, name: &str) -> String {
    let (mode, from) = if kind == "blob" { ("100644", "HEAD:data") } else { ("40000", "HEAD") };
    let line = format!("{mode} {kind} {id}\t{name}");
    let tree = site
        .sh(&format!("{{ git ls-tree {from} | grep -v '{name}$' || true; echo '{line}'; }} | git mktree --missing"));
    let tree = if kind == "blob" {
        site.sh(&format!(
            "{{ git ls-tree HEAD | grep -v 'data$' || true; echo '40000 tree {}\tdata'; }} | git mktree --missing",
            tree.trim()
        ))
    } else {
        tree
    };
    site.git(["commit-tree", tree.trim(), "-p", "HEAD", "-m", "odd"])
}

/// Makes the objects behind `id` large in one way.
fn large(pack: &mut Pack, way: &str, kind: &str, content: &[u8]) -> String {
    match way {
        "a large file" => {
            let base = pack.zeros(kind, 2048);
            pack.made(kind, content, To::Place(base), 2048 * MIB)
        }
        "a file by its id" => {
            pack.zeros(kind, 1500);
            pack.made(kind, content, To::Id([1; 20]), 1500 * MIB)
        }
        "a change that makes much" => {
            let base = pack.zeros(kind, 1);
            let much = pack.change([2; 20], To::Place(base), (MIB, 2048 * MIB), &copies(2048));
            pack.made(kind, content, To::Place(much), 2048 * MIB)
        }
        _ => {
            let mut base = pack.zeros(kind, 1);
            for at in 0..2000_u32 {
                let mut id = [3; 20];
                id[..4].copy_from_slice(&at.to_be_bytes());
                base = pack.change(id, To::Place(base), (MIB, MIB), &copies(1));
            }
            pack.made(kind, content, To::Place(base), MIB)
        }
    }
}

#[test]
fn objects_of_large_chains_are_not_read() {
    for (way, told) in [
        ("a large file", "is a chain of deltas of 2147483"),
        ("a file by its id", "is a chain of deltas of 1572864"),
        ("a change that makes much", "is a chain of deltas of 214853"),
        ("a long chain", "is a chain of deltas of 2098"),
    ] {
        for place in [".git/objects", "../lender"] {
            let site = site();
            let mut pack = Pack::new();
            let id = large(&mut pack, way, "blob", CHANGED);
            pack.write(&site.root().join(place));
            site.write(".git/objects/info/alternates", format!("{}\n", site.beside("lender").display()));
            let head = commit(&site, "blob", &id, "c.yaml");
            let printed = site.hierad(&format!("diff --profiles nodes --format json HEAD {head}"));
            assert!(printed.out.contains(told), "{way}, {place}: {printed:?}");
            assert_ne!(printed.json()["verdict"], "no_change", "{way}, {place}: {printed:?}");
        }
        // A folder.
        let site = site();
        let mut pack = Pack::new();
        let file = [b"100644 c.yaml\0", &[7; 20][..]].concat();
        let id = large(&mut pack, way, "tree", &file);
        pack.write(&site.root().join(".git/objects"));
        let head = commit(&site, "tree", &id, "data");
        let printed = site.hierad(&format!("diff --profiles nodes HEAD {head}"));
        assert!(printed.status != 0 && printed.err.contains(told), "{way}: {printed:?}");
    }
}

#[test]
fn objects_of_common_chains_are_read() {
    for packing in ["--depth=4095 --window=250", "--depth=50", "--depth=0", "-c pack.indexVersion=1", "loose"] {
        let site = site();
        let line = |n: u32, version: u32| format!("k{n}: {}\n", if n == version { n } else { 0 });
        for version in 0..60 {
            site.write("data/c.yaml", (0..500).map(|n| line(n, version)).collect::<String>());
            site.commit("a version");
        }
        match packing {
            "loose" => String::new(),
            setting if setting.starts_with("-c") => site.sh(&format!("git {setting} repack -q -a -d -f")),
            options => site.sh(&format!("git repack -q -a -d -f {options}")),
        };
        for (revisions, told) in [("HEAD~2 HEAD", "2 keys change"), ("HEAD~59 HEAD~1", "1 key changes")] {
            let printed = site.hierad(&format!("diff --profiles nodes {revisions}"));
            assert!(printed.ok().contains(told), "{packing}: {printed:?}");
        }
    }
}
