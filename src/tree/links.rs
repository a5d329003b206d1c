//! Links on the way of a path in a tree.

use super::{Astray, LINKED_LIMIT, Target, inside, names, push_name};

/// The maximum number of links that one path may go through, as in Linux.
const LINK_LIMIT: usize = 40;

/// The links on the way of a path.
pub(super) struct Links<'p> {
    pub(super) path: &'p str,
    pub(super) root: &'p str,
    /// The names in links that are yet to be followed, the next one last.
    pub(super) ahead: Vec<String>,
    /// The link that these names are from.
    pub(super) from: Option<String>,
    pub(super) count: usize,
    /// The maximum number of names in links, including those of earlier paths.
    pub(super) limit: usize,
}

impl Links<'_> {
    /// Follows a link to `target` at the path `at`, whose folder's path has the length `folder`. Returns an error if
    /// it leads to no path of the tree.
    pub(super) fn follow(
        &mut self,
        target: &str,
        at: &mut String,
        folder: usize,
        linked: &mut usize,
    ) -> Result<(), Target> {
        self.count += 1;
        if self.count > LINK_LIMIT {
            return Err(Target::Loop(Astray::new(self.path, "leads into a loop of symbolic links")));
        }
        self.from.get_or_insert_with(|| at.clone());
        let Some(inner) = inside(self.root, target) else {
            return Err(Target::Outside(Astray::new(&**at, format!("is a symbolic link to {target}"))));
        };
        if target.starts_with('/') {
            self.root.clone_into(at);
        } else {
            at.truncate(folder);
        }
        // Empty names between slashes count, too.
        *linked = linked.saturating_add(1 + inner.split('/').count());
        if *linked > self.limit {
            let how = format!("leads through links of more than {LINKED_LIMIT} names");
            return Err(Target::Outside(Astray::new(self.path, how)));
        }
        self.ahead.extend(names(inner).rev().map(str::to_owned));
        Ok(())
    }

    /// Returns the target of a path that leads to nothing, since nothing is at `at`.
    pub(super) fn absent(self, mut at: String) -> Target {
        let Some(from) = self.from else { return Target::Absent };
        // The rest of a link's target belongs to the path that it leads to.
        self.ahead.iter().rev().for_each(|name| push_name(&mut at, name));
        Target::Dangling(Astray::new(from, format!("is a symbolic link to {at}, which is not in the repository")))
    }
}
