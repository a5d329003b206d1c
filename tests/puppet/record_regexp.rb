#!/usr/bin/env ruby
# frozen_string_literal: true

# Records which texts Ruby's regular expressions match, and how Ruby and Puppet write them, into
# tests/vectors/regexp.json:
#
#   {"texts": [TEXT...], "expressions": [
#     {"source": TEXT, "error": TEXT} or
#     {"source": TEXT, "to_s": TEXT, "inspect": TEXT, "puppet": [TEXT, TEXT], "matches": [N...]}...]}
#
# and "properties": {NAME: [[FIRST, LAST]...]...}: which characters below U+0530 have a property, where "puppet" is
# Puppet's text without and with slashes, and "matches" are the indexes of texts. Texts that are not UTF-8 are written
# as rich.rb beside this file does.
require 'json'
require 'puppet'
require 'puppet/pops'
require_relative 'rich'

TEXTS = ['', 'a', 'A', 'abc', 'ABC', "a\nb", 'a b', "a\tb", "a\u00a0b", "\u00a0", "\u2003", "\u0085", "\v", "\f", "\r\n", '5', '٥', '５', '²', 'Ⅷ', '_', 'é', 'É', 'e\u0301',
         'ß', 'ẞ', 'SS', 'ss', 'ſ', 's', 'K', 'k', 'K', 'σ', 'ς', 'Σ', 'İ', 'i', 'ı', 'I', '字', '字5', 'ａ', 'fF', '9f', 'g', '-', '+', '$', '=', '`', '^', '~', '|', '<', '>', '!', '"',
         '#', '%', '/', "\u2028", '—', '€', '«', 'a-b', 'a.b', 'a/b', 'foo bar', 'naïve', 'Grüße', 'GRÜẞE', 'packages', 'ŉ', 'ʼn', 'ǰ', 'é Ports', 'über x', 'x über', "\u{1F600}", "a\u{1F600}b", "\e", "\x7f", 'ǆ', 'ǅ', 'ﬀ', 'ff', "\u200d", 'ab12', '12ab',
         'web01.example.com', 'ntp::servers', "\xff".b, "a\xff".b, "\xe9".b, "5\x85".b, "\xc3(".b,
         '{}', '{,}', 'a{}', 'a{,}b'].freeze

CLASSES = ['\d', '\D', '\w', '\W', '\s', '\S', '\h', '\H', '\R', '\X', '\v', '.', '[\d]', '[^\d]', '[\w]', '[^\w]', '[\W]', '[^\W]', '[\s]', '[\S]', '[^\s]', '[\h]', '[\D5]', '[\w-]', '[\d\s]', '[^\d\s]',
           '[a-f\d]', '[\w&&[^a]]', '[[^\w]a]', *%w[alnum alpha ascii blank cntrl digit graph lower print punct space upper xdigit word].flat_map { |name| ["[[:#{name}:]]", "[[:^#{name}:]]"] },
           *%w[Alnum Alpha Digit Space Word Upper Lower Punct L N Nd Lu Greek Han Any Graph XDigit].map { |name| "\\p{#{name}}" }, '\P{Alpha}', '\p{^Alpha}', 'é', '[é]', '[à-ü]', 'ß', 'k', 's', 'ſ', 'σ', 'ff', '[s]', '[k-l]'].freeze

SHAPES = ['%s', '\A%s\z', '\A%s+\z', '(?i)\A%s\z', '(?i:%s)\z'].freeze

OTHERS = ['\b', '\Bb', '\bé', 'é\b', '\ba', 'b\b', '\Aa\b', '\b\w+\b', '(?u)\A\w\z', '(?a)\A\w\z', '(?d)\A\w\z', '(?u)\A\d\z', '(?a)\A[[:alpha:]]\z', '(?u:\w)\z', '(?a:[[:space:]])', '(?a)\bé', '(?u)\s', '(?a)\p{Alpha}',
          '(?m)a.b', 'a.b', '(?x) a b # c', '(?<=a)b', '(?<!a)b', '(?<=a+)b', '(?<=a|bc)', '(?<=(?:a|bc))x', '(?<=a{2})', '(?<=a?)b', '(?<=\w*)x', '(?=a)', '(?!a)', '(?>a+)b', '(a)\1', '(?<x>a)\k<x>', '(?<x>a|b\g<x>c)', '\K', 'a\Kb', '(?~ab)', '(a)?(?(1)b|c)',
          'a**', 'a+?', 'a++', 'a?+', 'a{2}+', 'a{,2}', 'a{2,}', 'a{', 'a{x}', 'a{1', '{', '}', ']', 'a]', '[]a]', '[', '[a', '[a-', '[]', '[^]', '[z-a]', '[a-\d]', '[\d-a]', '[a-c-e]', '[[:foo:]]', '[[:alpha:]', '[:alpha:]', '(', ')', '(?', '(?<', '(?<x', '(?<x>', '(?<1>a)', '(?z)', '(?i', '*', '+a', '?', 'a|*', '(*)', '^*', '$*', '\b*', '^{2}', '(?:^)*',
          '\\', 'a\\', '\x', '\x4', '\x41', '\xé', '\xff', '\xc3\xa9', '\u', '\u00', '\u00e9', '\u{e9}', '\u{e9 41}', '\u{}', '\u{110000}', '\ud800', '\101', '\0', '\8', '\1', '(a)\2', '\k<x>', '\g<x>', '\p', '\p{', '\p{Foo}', '\pL', '\c', '\cA', '\C-a', '\M-a', '\M-\C-a', '\e', '\a', '\z', '\Z', '\G', '\y', '\Y', '\O', '\N', '\Q',
          'a/b', 'a\/b', '/', '\\\\/', 'é/', "a\tb", "a\nb", "a\x01b", "\x7f", '(?i)a', '(?i)', '(?i:a)', '(?i:a)(b)', '(?-i:a)', '(?mi-x:a)', '(?mix:a)', '(?i)(?m)a', '(?i:a/)', '(?#c)a', '(?i:a)|b', '(?u)é', '(?x:a b)', '(?-mix:é)', '\\p{Alpha}', '\\\\p{Alpha}', '[\\p{L}]', 'a{2,1}', 'a{3,1}b', 'a{100001}', '(?:a{100}){1000}',
          '^ntp::', '^(?!secret)', '\Aweb\d+\.', '^profile::.*', '[[:alpha:]&&[^b]]', '[a&&b]', '[^a&&b]', '[a-z&&[^aeiou]]+', '(?i)[^s]', '(?i)[^k]\z', '(?i)\W', '(?i)[\W]', '(?i)[^\w]', '(?i)ss', '(?i)ß', '(?i)[ß]', '(?i)i', '(?i)İ', '(?i)ffi', '(?<a(b>x)', '(?-mix:(?<a(b>x))', '[])]', '(?-mix:[])])', '(?-mix:[^])])', '(?-mix:[a])])', '(?-mix:[]([]])b])', '(?-mix:[(])', '(?i:[]]))', '[]{2,1}]', '[^](]', '(?-mix:[&&])])', '^(?i)PACKAGES', '^(?i)port', '(?i)\Ana[a-z]', '(?i)naïve', '(?i)S', '(?i)sS?', '(?i)(s)+\z', '(?i)(s|t){2}', '(?i)ı', '(?i)nj', '(?i:e)', '(?i)z|e', '\R\z', '\X\z', "\u{1F600}", '[^a-z]', '[^é]',
          *['^', '$', '\A', '\Z', '\b', '\B', '\G', '(?:^)', 'a', '(a)', '[a]', ''].product(['{}', '{,}', '{,2}', '{0}', '{00}', '{05}', '{0,}', '{1,}', '{1,2}', '{,0}', '{ }', '{,,}', '{1,,}', '{a}', '{}{}', '{}*', '*{}', '{1}{,}', '{,']).map(&:join), 'a^*(?#c){0}', 'b\\Z{0}(?#c){0,}', ',\\Z*(?#c)*a'].freeze

PROPERTIES = %w[ASCII Cntrl Cyrillic Digit Greek L Latin Letter Ll Lower Lu N Nd P S Space Upper Z].freeze

def property(name)
  expression = Regexp.new("\\p{#{name}}")
  having = (0...0x530).select { |code| expression.match?([code].pack('U')) }
  having.slice_when { |one, next_one| next_one != one + 1 }.map { |run| [run.first, run.last] }
end

def matches(expression)
  TEXTS.each_index.select do |index|
    expression.match?(TEXTS[index])
  rescue Encoding::CompatibilityError
    false
  end
end

def entry(source)
  expression = Regexp.new(source)
  type = Puppet::Pops::Types::PRegexpType
  { 'source' => source, 'to_s' => expression.to_s, 'inspect' => expression.inspect,
    'puppet' => [type.regexp_to_s(expression), type.regexp_to_s_with_delimiters(expression)], 'matches' => matches(expression) }
rescue RegexpError => e
  { 'source' => source, 'error' => e.message }
end

$VERBOSE = nil
sources = CLASSES.product(SHAPES).map { |(one, shape)| shape.sub('%s') { one } } + OTHERS
lines = sources.uniq.map { |source| "  #{JSON.generate(entry(source))}" }
texts = JSON.generate(TEXTS.map { |text| Rich.encode(text) })
File.write(File.expand_path('../vectors/regexp.json', __dir__), "{\"texts\": #{texts},\n \"expressions\": [\n#{lines.join(",\n")}\n],\n \"properties\": #{JSON.generate(PROPERTIES.to_h { |name| [name, property(name)] })}}\n")
puts "#{lines.size} expressions, #{TEXTS.size} texts"
