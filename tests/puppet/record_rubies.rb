#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what differs between Rubies, by the Ruby that runs it, into tests/vectors/rubies/VERSION.json:
#   texts      documents in YAML, and what they hold as text, as in `a %{lookup('hash')}`
#   printable  the ranges of code points from U+0080 that a string shows as they are
Encoding.default_external = Encoding::UTF_8
require 'fileutils'
require 'json'
require 'yaml'

DOCUMENTS = [
  # Hashes.
  '{}', '{a: 1}', '{a: 1, b: two}', '{a: {b: {c: []}}}', '[{a: 1}, {b: 2}]', '{1: one, 1.5: x}', '{true: 1, ~: 2}', '{[a, 1]: b}', '{{a: 1}: 2}',
  '{"é ü": ß}', '{a b: "=>"}', "{\"\": ''}", "a: |\n  x\n  y\n",
  # Symbols as keys and as values.
  ":a: 1", ":a: :b", ":a?: 1\n:b!: 2\n:c=: 3", ":A: 1\n:_: 2", ":'a b': 1", ":a-b: 1", ":'': 1", ":+: 1\n:-: 2\n:/: 3", ":'[]': 1",
  ":'[]=': 1\n:'!': 2\n:'!=': 3", ":'<=>': 1\n:'==': 2\n:'=~': 3", ":'@a': 1\n:'@@a': 2\n:$a: 3", ":é: 1", ":'1a': 1", "- :a:\n    :b: 1",
  ":'+@': 1\n:'~': 2\n:'`': 3\n:'|': 4", ":nil: 1\n:self: 2\n:end: 3", ":日本: 1",
  # Characters.
  '"a\\u0085b"', '["\\u0085"]', '{"\\N": "\\L"}', '["\\u00a0\\u200b\\ufeff"]', '["\\U0001FAE8"]', '["\\U0001FADC"]', '["\\u0897"]', '["\\U0001F600"]', '["\\U0010FFFF"]', '["\\u061D"]',
  # Digits and none.
  '[0]', '["0,"]', '- 0,', '- 0_', '- 0__', '- 0,,', '- 0_,', '- -0,', '- +0_', '- 0b_', '- 0b,', '- 0x_', '- 0x,', '- -0x_', '- +0b_', '- 0_7', '- 0,7', '- 0_8', '- 0b_1', '- 0x_f',
  '- 0x,_f', '- 00', '- 00_', '- 1,', '- 1_', '- 1,000', '- 1_000', '- 0o7', '- 0,0', "0,: a\n0_: 0,", '- !!int 0,', '- !!float 0,', '- !!str 0,', '- 0.', '- ._', '- 0,.5', '- 0_.5'
].freeze

def text(document)
  YAML.safe_load(document, permitted_classes: [Symbol], aliases: true).to_s
rescue StandardError => e
  e.message[/\Ainvalid value for \w+\(\)/] || raise("#{document}: #{e.message}")
end

printable = (0x80..0x10ffff).reject { |c| (0xd800..0xdfff).cover?(c) }.select { |c| [c].pack('U').inspect == "\"#{[c].pack('U')}\"" }
ranges = printable.slice_when { |a, b| b != a + 1 }.map { |range| [range.first, range.last] }
folder = File.expand_path('../vectors/rubies', __dir__)
FileUtils.mkdir_p(folder)
texts = DOCUMENTS.map { |document| JSON.generate([document, text(document)]) }
File.write(File.join(folder, "#{RUBY_VERSION[/\d+\.\d+/]}.json"), "{\"texts\": [\n#{texts.join(",\n")}\n],\n\"printable\": #{JSON.generate(ranges)}}\n")
