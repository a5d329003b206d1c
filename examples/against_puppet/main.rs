//! x
#[path = "../../tests/generator/mod.rs"]
mod generator;
fn main() {
    let seed: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let r = generator::generate(seed);
    if let Some(dir) = std::env::args().nth(2) {
        let d = std::path::Path::new(&dir).join(format!("r{seed}"));
        let p = std::path::Path::new(&dir).join(format!("p{seed}"));
        let _ = std::fs::remove_dir_all(&d);
        let _ = std::fs::remove_dir_all(&p);
        std::fs::create_dir_all(&d).unwrap();
        if let Err(e) = r.write(&d) {
            eprintln!("{seed} {e}");
        }
        let pp = r.write_profiles(&p).unwrap();
        println!("{}", serde_json::json!({"repo": d, "profiles": pp, "strict": seed % 2 == 1, "keys": null}));
    } else {
        println!("{}\n{}", r.fixture(), r.ndjson());
    }
}
