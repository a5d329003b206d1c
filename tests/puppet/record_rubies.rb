#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what differs between Rubies, by the Ruby that runs it, into tests/vectors/rubies/VERSION.json (3.1.json, jruby-9.3.json):
#   texts      documents in YAML, and what they hold as text, as in `a %{lookup('hash')}`, or null where it is no YAML
#   printable  the ranges of code points from U+0080 that a string shows as they are
#   floats     the bits of floats in hexadecimal, their text, and their texts by each of `formats` ("!" and the message where it is refused)
# The texts and floats that are in 3.1.json, too, are left out of the other files.
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

FORMATS = %w[%f %.0f %.2f %+010.3f %.20f %#.0f %e %.0e %.3e %.17E %g %.1g %.3g %.10g %.17G %#g %#.3e %-12.2e %a %.3A].push('% .4f').freeze

random = Random.new(1)
floats = [0.0, -0.0, 1.0, 0.5, 1.5, 2.5, 0.1, 0.3, 0.1 + 0.2, 1.005, 2.675, 4.35, 0.0005, 0.05, 153.5, 73_659_905_688_138.53, 0.28992, 15.974, 9.5, 9.995, 95.0, 99.95, 0.0001, 0.00009, 1e14, 1e15, 1.5e15, 1e16, 2.0**60,
          1e18, 1e19, 1.2345678901234567e19, 1e20, 2.0**64, 1e22, 1e23, 2e23, 8.41e21, 5e-324, 2.0**-44, 2.2250738585072014e-308, 1.7976931348623157e308,
          Float::INFINITY, -Float::INFINITY, Float::NAN]
floats += Array.new(40) { random.bytes(8).unpack1('E') }
floats += Array.new(100) { random.rand(10**random.rand(1..7)) / 10.0**random.rand(0..6) }
floats += Array.new(60) { (2 * random.rand(10**random.rand(2..14)) + 1) * 5 / 10.0**random.rand(1..8) }
floats += Array.new(60) { random.rand(10**15..10**21).to_f }
floats += Array.new(40) { 2.0**random.rand(-1000..1000) }

def formatted(format, float)
  format(format, float)
rescue StandardError => e
  "!#{e.message}"
end

def text(document)
  YAML.safe_load(document, permitted_classes: [Symbol], aliases: true).to_s
rescue Psych::SyntaxError
  nil
rescue StandardError => e
  e.message[/\Ainvalid value for \w+\(\)/] || raise("#{document}: #{e.message}")
end

printable = (0x80..0x10ffff).reject { |c| (0xd800..0xdfff).cover?(c) }.select { |c| [c].pack('U').inspect == "\"#{[c].pack('U')}\"" }
ranges = printable.slice_when { |a, b| b != a + 1 }.map { |range| [range.first, range.last] }
folder = File.expand_path('../vectors/rubies', __dir__)
FileUtils.mkdir_p(folder)
texts = DOCUMENTS.map { |document| JSON.generate([document, text(document)]) }
floats.map! { |float| JSON.generate([[float].pack('G').unpack1('H*'), float.to_s, *FORMATS.map { |format| formatted(format, float) }]) }
version = defined?(JRUBY_VERSION) ? "jruby-#{JRUBY_VERSION[/\d+\.\d+/]}" : RUBY_VERSION[/\d+\.\d+/]
unless version == '3.1'
  known = File.readlines(File.join(folder, '3.1.json'), chomp: true).map { |line| line.delete_suffix(',') }
  [texts, floats].each { |lines| lines.reject! { |line| known.include?(line) } }
end
parts = ["\"texts\": [\n#{texts.join(",\n")}\n]", "\"printable\": #{JSON.generate(ranges)}", "\"formats\": #{JSON.generate(FORMATS)}",
         "\"floats\": [\n#{floats.join(",\n")}\n]"]
File.write(File.join(folder, "#{version}.json"), "{#{parts.join(",\n")}}\n")
