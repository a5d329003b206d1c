//! The part of Puppet's language that type expressions are written in: references, brackets, literals.
//!
//! [`parse`] makes a [`Node`] of a text; it does not know which types exist. Puppet parses the rest of the language
//! as well, and then finds that it is not a type: of that, operators, calls and resources are read here, so that an
//! error is at the place where Puppet has it.
//!
//! Source: `pops/parser/egrammar.ra`, `pops/model/factory.rb`.

mod tokens;

use std::ops::Range;

use crate::puppet::Error;
use crate::value::Value;

use tokens::{Form, Parsed, Token, error_at, tokens};

/// The maximum nesting of brackets.
const DEPTH_LIMIT: usize = 100;

/// Names that are called with the statement after them.
const STATEMENTS: [&str; 15] = [
    "require", "realize", "include", "contain", "tag", "debug", "info", "notice", "warning", "err", "fail", "import",
    "break", "next", "return",
];

/// An expression and its text.
#[derive(Debug)]
pub(super) struct Node<'t> {
    /// The text as it is written.
    pub(super) text: &'t str,
    /// The parsed expression.
    pub(super) kind: Kind<'t>,
    span: Range<usize>,
    /// The place of an error about the expression.
    at: usize,
}

/// A parsed expression.
#[derive(Debug)]
pub(super) enum Kind<'t> {
    /// `Integer`, as it is written.
    Reference(&'t str),
    /// `X[a, b]`.
    Access(Box<Node<'t>>, Vec<Node<'t>>),
    /// `name`.
    Name(&'t str),
    /// `'text'`, `17`, `true`, `undef`, `default`.
    Literal(Value),
    /// `/regular expression/`.
    Regex(String),
    /// `[a, b]`.
    List(Vec<Node<'t>>),
    /// `{a => b}`.
    Hash(Vec<(Node<'t>, Node<'t>)>),
    /// `-x`.
    Minus(Box<Node<'t>>),
    /// Any expression that is not a type.
    Other,
}

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Parsed<Node<'_>> {
    let (tokens, fault) = tokens(text);
    let mut parser = Parser { text, tokens, fault, at: 0, depth: 0 };
    if parser.tokens.is_empty() && parser.fault.is_none() {
        return Ok(parser.node(0..0, 0, Kind::Other));
    }
    let mut statements = vec![parser.statement()?];
    while parser.at < parser.tokens.len() {
        let is_separated = parser.accept(";");
        let begin = parser.at;
        match parser.statement() {
            Ok(statement) => statements.push(statement),
            // Puppet looks at the statements before it finds that none follows.
            Err(error) if begin < parser.tokens.len() && parser.at == begin && !is_separated => {
                return parser.program(statements).and(Err(error));
            }
            Err(error) => return Err(error),
        }
    }
    match parser.fault.take() {
        Some(fault) => Err(fault),
        None => parser.program(statements),
    }
}

/// An expression at the top, and the place of the first comma if it is a list.
type Statement<'t> = (Node<'t>, Option<usize>);

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    /// The error of the text after the tokens, if it cannot be split.
    fault: Option<Error>,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn sign(&self) -> Option<&'static str> {
        self.sign_at(self.at)
    }

    fn sign_at(&self, at: usize) -> Option<&'static str> {
        match self.tokens.get(at)?.form {
            Form::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn is(&self, sign: &str) -> bool {
        self.sign() == Some(sign)
    }

    fn is_one_of(&self, signs: &[&str]) -> bool {
        self.sign().is_some_and(|sign| signs.contains(&sign))
    }

    /// Reads a sign if it is the next one.
    fn accept(&mut self, sign: &str) -> bool {
        let is_next = self.is(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.accept(sign) { Ok(()) } else { Err(self.error()) }
    }

    fn error(&self) -> Error {
        match self.tokens.get(self.at) {
            Some(token) => error_at(self.text, token.start, &format!("Syntax error at '{}'", token.shown)),
            None => self.fault.clone().unwrap_or_else(|| Error::puppet("Syntax error at end of input")),
        }
    }

    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |token| token.start)
    }

    /// Returns the end of the token that was read last.
    fn end(&self) -> usize {
        self.tokens[..self.at].last().map_or(0, |token| token.end)
    }

    fn node(&self, span: Range<usize>, at: usize, kind: Kind<'t>) -> Node<'t> {
        Node { text: &self.text[span.clone()], kind, span, at }
    }

    /// Returns what all statements together are: none or several are not a type.
    fn program(&self, statements: Vec<Statement<'t>>) -> Parsed<Node<'t>> {
        let mut whole: Option<Node<'t>> = None;
        // The name before a statement, if nothing but a name is there.
        let mut name = None;
        let mut count = 0;
        for (node, comma) in statements {
            let is_argument = name.is_some_and(|name| STATEMENTS.contains(&name));
            if let Some(comma) = comma.filter(|_| !is_argument) {
                let what = name.map_or_else(
                    || "illegal comma separated argument list".to_owned(),
                    |name| {
                        format!(
                            "attempt to pass argument list to the function '{name}' which cannot be called without \
                             parentheses"
                        )
                    },
                );
                return Err(error_at(self.text, comma, &what));
            }
            count += 1;
            name = if let Kind::Name(name) = node.kind { Some(name).filter(|_| !is_argument) } else { None };
            whole = Some(match whole {
                Some(before) => self.joined(&before, node.span.end, node.at),
                None => node,
            });
        }
        whole.filter(|_| count > 0).ok_or_else(|| self.error())
    }

    /// Returns an expression that begins with `first`, and is not a type.
    fn joined(&self, first: &Node<'t>, end: usize, at: usize) -> Node<'t> {
        self.node(first.span.start..end, at, Kind::Other)
    }

    fn statement(&mut self) -> Parsed<Statement<'t>> {
        let mut node = self.assignment()?.0;
        let mut comma = None;
        while self.is(",") {
            comma = comma.or(Some(self.start()));
            self.at += 1;
            let next = self.assignment()?.0;
            node = self.joined(&node, next.span.end, next.at);
        }
        Ok((node, comma))
    }

    /// Parses an expression, a resource, or several of them with arrows or assignments between them. Returns also
    /// whether it is an expression.
    fn assignment(&mut self) -> Parsed<(Node<'t>, bool)> {
        let (mut node, mut is_expression) = self.resource()?;
        while self.is_one_of(&["->", "~>", "<-", "<~", "=", "+=", "-="]) {
            let at = self.start();
            let is_assignment = !self.is_one_of(&["->", "~>", "<-", "<~"]);
            self.at += 1;
            let (next, _) = if is_assignment { self.assignment()? } else { self.resource()? };
            node = self.joined(&node, next.span.end, at);
            is_expression = false;
        }
        Ok((node, is_expression))
    }

    fn resource(&mut self) -> Parsed<(Node<'t>, bool)> {
        let mut node = self.expression()?;
        let mut is_expression = true;
        while self.is("{") {
            let brace = self.start();
            self.at += 1;
            let (has_title, appends) = self.bodies()?;
            match node.kind {
                Kind::Reference(_) | Kind::Access(..) => {}
                Kind::Name(_) if has_title || !appends => {}
                _ if has_title => {}
                Kind::Name(_) => {
                    let what = "Syntax error resource body without title or hash with +>";
                    return Err(error_at(self.text, brace, what));
                }
                _ => {
                    let what = "Expression is not valid as a resource, resource-default, or resource-override";
                    return Err(error_at(self.text, node.at, what));
                }
            }
            let start = node.span.start;
            node = self.joined(&node, self.end(), start);
            is_expression = false;
        }
        Ok((node, is_expression))
    }

    /// Parses what follows the brace of a resource. Returns whether it has a title, and whether it appends to values.
    fn bodies(&mut self) -> Parsed<(bool, bool)> {
        let is_keyword = self.is_one_of(&["and", "or", "in", "elsif", "else", "inherits"]);
        let has_title = !self.is_one_of(&["}", ","]) && !self.is_attribute() && !is_keyword;
        let mut appends = false;
        loop {
            if has_title {
                self.expression()?;
                self.expect(":")?;
            }
            appends |= self.attributes()?;
            if !has_title || !self.accept(";") || self.is("}") {
                break;
            }
        }
        self.expect("}")?;
        Ok((has_title, appends))
    }

    /// Parses attributes, of which there may be none even before a comma. Returns true if one appends to a value.
    fn attributes(&mut self) -> Parsed<bool> {
        let mut appends = false;
        let mut is_first = true;
        loop {
            if self.is_attribute() {
                appends |= self.sign_at(self.at + 1) == Some("+>");
                self.at += 2;
                self.expression()?;
            } else if self.begins_attribute() {
                self.at += 1;
                return Err(self.error());
            } else if !is_first {
                return Ok(appends);
            }
            if !self.accept(",") {
                return Ok(appends);
            }
            is_first = false;
        }
    }

    fn begins_attribute(&self) -> bool {
        match self.tokens.get(self.at).map(|token| &token.form) {
            Some(Form::Name | Form::Literal(Value::Undef | Value::Symbol(_))) => true,
            Some(Form::Sign(sign)) => *sign == "*" || sign.starts_with(|c: char| c.is_ascii_lowercase()),
            _ => false,
        }
    }

    /// Returns true if the name of an attribute, or `*`, and its arrow are next.
    fn is_attribute(&self) -> bool {
        let arrow = self.sign_at(self.at + 1);
        self.begins_attribute() && (arrow == Some("=>") || arrow == Some("+>") && !self.is("*"))
    }

    /// Parses an operand and the operators on it; with an operator, it is not a type.
    fn expression(&mut self) -> Parsed<Node<'t>> {
        let mut node = self.operand()?;
        while self.sign().is_some_and(is_operator) {
            let at = self.start();
            self.at += 1;
            let next = self.operand()?;
            node = self.joined(&node, next.span.end, at);
        }
        if self.is_one_of(&["?", "<|", "<<|"]) {
            return Err(Error::unknown("a selector or a collector in a type"));
        }
        Ok(node)
    }

    fn operand(&mut self) -> Parsed<Node<'t>> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(Error::unknown(format!("a type nests more than {DEPTH_LIMIT} deep")));
        }
        let start = self.start();
        let node = if let Some(sign @ ("-" | "!" | "*")) = self.sign() {
            self.at += 1;
            let inner = self.operand()?;
            let span = start..inner.span.end;
            self.node(span, start, if sign == "-" { Kind::Minus(inner.into()) } else { Kind::Other })
        } else {
            let primary = self.primary()?;
            self.followed(primary)?
        };
        self.depth -= 1;
        Ok(node)
    }

    /// Parses the brackets, calls and methods after an operand.
    fn followed(&mut self, mut node: Node<'t>) -> Parsed<Node<'t>> {
        loop {
            let at = self.start();
            let own = node.at;
            let mut is_call = false;
            if self.accept("[") {
                let parameters = self.list("]", true)?;
                let span = node.span.start..self.end();
                node = self.node(span, own, Kind::Access(node.into(), parameters));
            } else if self.accept("(") {
                self.list(")", false)?;
                node = self.joined(&node, self.end(), own);
                is_call = true;
            } else if self.accept(".") {
                if !matches!(self.tokens.get(self.at).map(|token| &token.form), Some(Form::Name | Form::Sign("type"))) {
                    return Err(self.error());
                }
                self.at += 1;
                let call = self.start();
                let has_arguments = self.accept("(");
                if has_arguments {
                    self.list(")", false)?;
                    if self.sign_at(self.at.wrapping_sub(2)) == Some(",") {
                        self.at -= 1;
                        return Err(self.error());
                    }
                }
                node = self.joined(&node, self.end(), if has_arguments { call } else { at });
                is_call = true;
            } else {
                return Ok(node);
            }
            if is_call && self.is("|") {
                return Err(Error::unknown("a lambda in a type"));
            }
        }
    }

    fn primary(&mut self) -> Parsed<Node<'t>> {
        let Some(token) = self.tokens.get(self.at) else { return Err(self.error()) };
        let (start, mut end, source) = (token.start, token.end, &self.text[token.start..token.end]);
        let form = token.form.clone();
        let failed = self.error();
        self.at += 1;
        let kind = match form {
            Form::Reference => Kind::Reference(source),
            Form::Name => Kind::Name(source),
            Form::Literal(value) => Kind::Literal(value),
            Form::Regex(pattern) => Kind::Regex(pattern),
            Form::Evaluated | Form::Sign("private" | "attr") => Kind::Other,
            Form::Huge => {
                let text = format!("Internal Error, NUMBER token does not contain a valid number, {source}");
                return Err(Error::puppet(text));
            }
            Form::Sign("[" | " [") => {
                let items = self.list("]", false)?;
                end = self.end();
                Kind::List(items)
            }
            Form::Sign("{") => {
                let entries = self.entries()?;
                end = self.end();
                Kind::Hash(entries)
            }
            Form::Sign("(" | " (") => {
                // Puppet's text of an expression in parentheses lacks the closing one.
                end = self.assignment()?.0.span.end;
                self.expect(")")?;
                Kind::Other
            }
            Form::Sign("case" | "class" | "define" | "if" | "node" | "unless" | "function" | "type" | "@" | "@@") => {
                return Err(Error::unknown(format!("'{source}' in a type")));
            }
            Form::Sign(_) => {
                self.at -= 1;
                return Err(failed);
            }
        };
        Ok(self.node(start..end, start, kind))
    }

    /// Parses expressions separated by commas, up to `end`, with an optional comma before it. Entries without braces
    /// that follow one another make a hash. Parameters, of which there is one at least, are expressions or entries.
    fn list(&mut self, end: &str, are_parameters: bool) -> Parsed<Vec<Node<'t>>> {
        let mut nodes: Vec<Node<'t>> = Vec::new();
        let mut is_open = false;
        while are_parameters && nodes.is_empty() || !self.is(end) {
            let (key, is_expression) = self.assignment()?;
            if self.accept("=>") {
                let value = self.assignment()?.0;
                let span = key.span.start..value.span.end;
                match nodes.last_mut() {
                    Some(Node { kind: Kind::Hash(entries), span: whole, text, .. }) if is_open => {
                        whole.end = span.end;
                        *text = &self.text[whole.clone()];
                        entries.push((key, value));
                    }
                    _ => nodes.push(self.node(span.clone(), span.start, Kind::Hash(vec![(key, value)]))),
                }
                is_open = true;
            } else if is_expression || !are_parameters {
                nodes.push(key);
                is_open = false;
            } else {
                return Err(self.error());
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect(end)?;
        Ok(nodes)
    }

    fn entries(&mut self) -> Parsed<Vec<(Node<'t>, Node<'t>)>> {
        let mut entries = Vec::new();
        while !self.is("}") {
            let key = self.assignment()?.0;
            self.expect("=>")?;
            entries.push((key, self.assignment()?.0));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(entries)
    }
}

fn is_operator(sign: &str) -> bool {
    ["+", "-", "*", "/", "%", "<<", ">>", "==", "!=", "=~", "!~", "<", ">", "<=", ">=", "in", "and", "or"]
        .contains(&sign)
}
