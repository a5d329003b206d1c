//! The source files of the crate, parsed: which modules each of them names, and how long its functions are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use syn::visit::{self, Visit};

/// A path in the text of a macro's arguments.
static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").unwrap());

/// The segments of a path from the root of the crate: `["hiera", "lookup"]`.
pub(super) type ModulePath = Vec<String>;

/// A source file.
pub(super) struct Source {
    /// Its path from the root of the repository.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) module: ModulePath,
    /// The items that it names by `crate::`, `super::`, `self::` or the name of a child; tests inside it left out.
    pub(super) uses: Vec<ModulePath>,
    /// The items that it exports again, by the path that others see.
    pub(super) exports: BTreeMap<ModulePath, ModulePath>,
    /// Its functions and their lines; tests inside it left out.
    pub(super) functions: Vec<(String, usize)>,
}

/// Returns the root of the repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Rust files below a folder of the repository, by their paths from its root, with their text.
pub(super) fn texts(folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root().join(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// Returns the library's source files, parsed once for all tests.
pub(super) fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let files = texts("src").into_iter().filter(|(file, _)| file != "src/main.rs");
        files.map(|(file, text)| parse(file, text)).collect()
    });
    &SOURCES
}

/// Parses one source file.
pub(super) fn parse(file: String, text: String) -> Source {
    let syntax = syn::parse_file(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
    let module = module_path(&file);
    let source = Source { file, text, module, uses: Vec::new(), exports: BTreeMap::new(), functions: Vec::new() };
    let mut reader = Reader { source, children: Vec::new() };
    reader.children = syntax
        .items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
            _ => None,
        })
        .collect();
    reader.visit_file(&syntax);
    reader.source
}

/// Returns the module that a file holds: `src/hiera/mod.rs` and `src/hiera.rs` hold `hiera`, `src/lib.rs` the root.
fn module_path(file: &str) -> ModulePath {
    let path = PathBuf::from(file.trim_start_matches("src/")).with_extension("");
    let mut module: ModulePath = path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

struct Reader {
    source: Source,
    /// The modules that the file declares.
    children: Vec<String>,
}

impl Reader {
    /// Returns a written path as one from the root of the crate, or `None` if it begins with another name.
    fn absolute(&self, written: &[String]) -> Option<ModulePath> {
        let mut base = self.source.module.clone();
        let rest = match written.first()?.as_str() {
            "crate" => return Some(written[1..].to_vec()),
            "self" => &written[1..],
            "super" => {
                let levels = written.iter().take_while(|segment| *segment == "super").count();
                base.truncate(base.len().checked_sub(levels)?);
                &written[levels..]
            }
            name if self.children.iter().any(|child| child == name) => written,
            _ => return None,
        };
        Some(base.into_iter().chain(rest.iter().cloned()).collect())
    }

    fn name(&mut self, written: &[String]) {
        if let Some(path) = self.absolute(written) {
            self.source.uses.push(path);
        }
    }

    /// Notes each path of a `use`, and under which name it can be had here if it is exported.
    fn import(&mut self, tree: &syn::UseTree, mut written: Vec<String>, is_exported: bool) {
        let name = match tree {
            syn::UseTree::Path(path) => {
                written.push(path.ident.to_string());
                return self.import(&path.tree, written, is_exported);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, written.clone(), is_exported));
                return;
            }
            syn::UseTree::Glob(_) => None,
            syn::UseTree::Rename(rename) => {
                written.push(rename.ident.to_string());
                Some(rename.rename.to_string())
            }
            syn::UseTree::Name(name) if name.ident == "self" => written.last().cloned(),
            syn::UseTree::Name(name) => {
                written.push(name.ident.to_string());
                Some(name.ident.to_string())
            }
        };
        self.name(&written);
        if let (true, Some(name), Some(path)) = (is_exported, name, self.absolute(&written)) {
            let seen: ModulePath = self.source.module.iter().cloned().chain([name]).collect();
            self.source.exports.insert(seen, path);
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = block.brace_token.span.close().end().line - signature.fn_token.span.start().line + 1;
        self.source.functions.push((signature.ident.to_string(), lines));
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    // `cfg(test)`, and `cfg(all(test, unix))`.
    let names_test = |tokens: &proc_macro2::TokenStream| {
        let text = tokens.to_string();
        text == "test"
            || text.starts_with("all") && text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
    };
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && names_test(&list.tokens),
        _ => false,
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            let is_exported = !matches!(item.vis, syn::Visibility::Inherited);
            self.import(&item.tree, Vec::new(), is_exported);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let written: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(&written);
        visit::visit_path(self, path);
    }

    /// Finds paths in a macro's arguments, which are not parsed.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = call.tokens.to_string().replace(' ', "");
        for found in PATH.find_iter(&tokens) {
            let written: Vec<String> = found.as_str().split("::").map(str::to_owned).collect();
            self.name(&written);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}
