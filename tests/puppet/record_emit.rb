#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what Ruby's `to_yaml` writes for the values of tests/vectors/emit.ndjson, a line each:
#
#   {"value": VALUE, "yaml": TEXT}       VALUE in rich data form, see rich.rb beside this file
#
#   ruby record_emit.rb                             rewrites that file: the values below, then 1,500 random ones
#   ruby record_emit.rb --random COUNT --seed SEED  prints COUNT random values in that form
require 'json'
require 'yaml'
require_relative 'rich'

FILE = File.expand_path('../vectors/emit.ndjson', __dir__)

WORDS = %w[y n yes No on off true FALSE null ~ nil web01.example.com 1.2.3.4 10.0.0.0/8 /etc/ssh a:b a::b -x - ? : = << | > ! & * # % @ `
           0 1 -1 +1 007 08 0o17 0x1f 0b1 1_000 1,000 1.5 .5 5. 1e3 1.0e+3 .inf -.INF .nan 1:30 1:30:45 190:20:30.15 2020-01-01
           2020-01-01T10:00:00Z 2020-13-45 2020-1-1 :sym :"a" : ... --- '' "" ' " \\ {} [] [a] {a: b} äöü € 日本語 😀 é].freeze
PIECES = [' ', '  ', "\n", "\n\n", "\t", ': ', ' #', ', ', '-', '- ', '"', "'", '%{facts.os}', '\\', "\r", "\u0085", "\u00a0", "\u2028",
          "\ufeff", "\u0007", "\u001b", "\u007f", "\u0000", '.', '!', '&', '*', '?', '[', ']', '{', '}', '|', '>', '@', '`', '=', '~'].freeze
TEXTS = (WORDS + PIECES + WORDS.map { |word| "#{word} " } + WORDS.map { |word| " #{word}" } + WORDS.map { |word| "#{word}\n" } +
  WORDS.flat_map { |word| ["a\n#{word}", "#{word}\nb\n", "#{word}\n\n", "\n#{word}", "a #{word} b", "#{word}: x", "x #{word}"] } +
  ['', "a\nb", "a\nb\n", "a\nb\n\n", "a\n b", " a\nb", "a \nb", "a\n\nb", "\n", "\n\n", "\n\n\n", "a\n\"b\"\n", "x\r\ny",
   'lorem ipsum dolor sit amet ' * 6, "it's #{'lorem ipsum dolor sit amet ' * 6}", "\t#{'lorem ipsum  dolor sit amet ' * 6}",
   "#{'word ' * 30}\n#{'word ' * 30}", 'x' * 200, "#{'x' * 79} y z", "#{'x' * 80} y z", "#{'x' * 81}  y z"]).uniq.freeze
OTHERS = [nil, true, false, 0, -1, 2**70, 1.5, -0.0, 1e20, 1e-7, Float::INFINITY, -Float::INFINITY, Float::NAN, :a, :"a b", :"a: b",
          :y, :"1", :"", "\xff\xfe".b, ("\xff" * 100).b, [], {}].freeze

# Random values.
class Dice
  def initialize(seed) = @random = Random.new(seed)

  def value(depth = 4)
    case depth.zero? ? @random.rand(5) : @random.rand(9)
    when 0..3 then text
    when 4 then OTHERS.sample(random: @random).then { |one| one.frozen? && !one.is_a?(Array) && !one.is_a?(Hash) ? one : one.dup }
    when 5, 6 then Array.new(@random.rand(4)) { value(depth - 1) }
    else Array.new(@random.rand(4)) { [key(depth), value(depth - 1)] }.to_h
    end
  end

  def key(depth) = @random.rand(12).zero? ? value(depth - 1) : text

  def text
    case @random.rand(4)
    when 0 then TEXTS.sample(random: @random).dup
    when 1 then WORDS.sample(random: @random).dup
    else Array.new(@random.rand(1..8)) { (@random.rand(2).zero? ? WORDS : PIECES).sample(random: @random) }.join
    end
  end
end

def line(value) = Rich.json({ 'value' => value, 'yaml' => value.to_yaml })

def random(count, seed)
  dice = Dice.new(seed)
  Array.new(count) { dice.value }
end

if ARGV.first == '--random'
  _, count, _, seed = ARGV
  random(Integer(count), Integer(seed)).each { |value| puts line(value) }
else
  fixed = TEXTS.flat_map { |text| [text, [text], { text => text }, [{ 'a' => [text] }]] } + OTHERS.flat_map { |one| [one, { one => one.dup }] }
  File.write(FILE, (fixed + random(1500, 1)).map { |value| "#{line(value)}\n" }.join)
end
