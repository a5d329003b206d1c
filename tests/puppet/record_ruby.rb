#!/usr/bin/env ruby
# frozen_string_literal: true

# Records how Ruby shows numbers, symbols and characters, into tests/vectors/ruby.json:
#   floats     the bits in hexadecimal and the text
#   symbols    the name and the text
#   printable  the ranges of code points from U+0080 that a string shows as they are
Encoding.default_external = Encoding::UTF_8
require 'json'

random = Random.new(1)
floats = [0.0, -0.0, 1.0, 0.1, 1e14, 1e15, 1e16, 1e22, 1e23, 0.0001, 0.00009, 1.5e-7, 5e-324, 1.7976931348623157e308,
          999_999_999_999_999.9, 1_005_036_046_564_568.9, 141_313_521_904_258.125, Float::INFINITY, -Float::INFINITY, Float::NAN]
floats += Array.new(100) { [random.bytes(8)].first.unpack1('E') }
floats += Array.new(100) { random.rand(10**16..10**17) / 2.0**random.rand(1..30) }

names = %w[a a? a! a= A a?= @a @@a $a @ @@ $ $1 $01 $-a $-ab $~ $' + - * ** / % == === =~ ! != !~ < <= <=> << & | ^ ~ +@ -@ !@ [] []=
           ` nil a.b a-b é éa 1a 1= 1== ;= a\ b :a ::a a::b && = () ] + ['', "\n", "a\u0000", "\u0085", "\u{10ffff}", "é b", '#{x}']

printable = (0x80..0x10ffff).reject { |c| (0xd800..0xdfff).cover?(c) }.select { |c| [c].pack('U').inspect == "\"#{[c].pack('U')}\"" }

File.write(File.expand_path('../vectors/ruby.json', __dir__), JSON.generate(
  'floats' => floats.map { |f| [[f].pack('G').unpack1('H*'), f.to_s] },
  'symbols' => names.map { |name| [name, name.to_sym.inspect] },
  'printable' => printable.slice_when { |a, b| b != a + 1 }.map { |range| [range.first, range.last] }
).gsub('],"', "],\n\""))
