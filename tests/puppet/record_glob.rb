#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what Ruby's Dir.glob finds in a tree, in its order, into tests/vectors/glob.json:
#
#   {"fixture": TEXT,  the tree: a line "-- PATH" for each file, "-- PATH -> TARGET" for each link
#    "patterns": [[PATTERN, [PATH...]]...]}: files and links to files, no folders
require 'fileutils'
require 'json'
require 'tmpdir'

FOLDERS = ['', 'x1/', 'x1/x2/', 'x1/x2/y/', 'x3/', 'y/', 'y/x1/', '.h/'].freeze
FILES = FOLDERS.flat_map { |folder| %w[a b c.yaml .d].map { |name| folder + name } }.freeze
LINKS = { 'z' => 'x1', 'y/e' => '../a', 'x3/up' => '..' }.freeze

NAMES = "* ** x* {a,b} {b,a} a b x1 {x1,y} {y,x1} *{1,3} {x1/x2,y} [ab] {a,{c,b}} ? x{1,3} {x2,.} {,x1/}a y {*,x1} {a,b]} z {z,x1}
         .* .h {.h,x3} **.yaml *.{yaml,json} [^a] [a-c]* {a {a/,b} \\{a [{]a [x/y] ] .".split.freeze

# Escapes, at the end of a name and before what needs none.
ESCAPED = %w<a\\ *\\ x*\\ *.yaml\\ c.yaml\\ ?\\ [ab]\\ x1\\ x?\\ **\\ {a,b}\\ {a\\,b} \a \*a *.\yaml [\ab] [a\\] [a\]] [\\ .\d \.d \.*
             a\\\\ *\\\\ \*\* x\1 \.*
             .? {.*,x2}>.freeze

random = Random.new(1)
patterns = Array.new(900) { Array.new(random.rand(1..4)) { NAMES[random.rand(NAMES.size)] }.join('/') }
patterns += Array.new(400) do
  Array.new(random.rand(1..3)) { (random.rand < 0.6 ? ESCAPED : NAMES).sample(random: random) }.join('/')
end
patterns.uniq!
found = Dir.mktmpdir do |root|
  Dir.chdir(root) do
    FILES.each { |path| FileUtils.mkdir_p(File.dirname(path)) && File.write(path, '') }
    LINKS.each { |path, target| File.symlink(target, path) }
    patterns.map { |pattern| [pattern, Dir.glob(pattern).reject { |path| File.directory?(path) }] }
  end
end
fixture = FILES.map { |path| "-- #{path}\n" } + LINKS.map { |path, target| "-- #{path} -> #{target}\n" }
lines = found.map { |one| "  #{JSON.generate(one)}" }
vectors = File.expand_path('../vectors/glob.json', __dir__)
File.write(vectors, "{\"fixture\": #{JSON.generate(fixture.join)},\n \"patterns\": [\n#{lines.join(",\n")}\n]}\n")
puts "#{found.size} patterns, #{found.sum { |_, paths| paths.size }} paths"
