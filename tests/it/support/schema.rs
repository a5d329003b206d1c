//! Checks documents against JSON Schemas.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value as Json;

/// A schema that is ready for use.
pub(crate) struct Schema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Schema {
    /// Compiles a schema, which must refer to no other one.
    pub(crate) fn new(schema: Json) -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("urn:schema", schema).unwrap();
        let root = compiler.compile("urn:schema", &mut schemas).unwrap();
        Schema { schemas, root }
    }

    /// Fails, with each fault and its place, unless `document` is as the schema says.
    #[track_caller]
    pub(crate) fn check(&self, document: &Json) {
        if let Err(faults) = self.schemas.validate(document, self.root) {
            panic!("{faults:#} in {document:#}");
        }
    }
}
