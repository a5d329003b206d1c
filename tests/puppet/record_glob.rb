#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what Ruby's Dir.glob finds in trees, in its order, into tests/vectors/glob.json:
#
#   [{"fixture": TEXT,  a tree: a line "-- PATH" for each file, "-- PATH -> TARGET" for each link
#     "patterns": [[PATTERN, [PATH...] or ERROR]...]}...]: files and links to files, no folders
#
# With a number of patterns and a seed it prints those instead of writing the file, for the rest of the test's work:
#
#   ruby record_glob.rb 20000 7 > FILE && HIERAD_VECTORS=FILE cargo test --test it vectors_glob
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

# Links that go round, in themselves and in each other, those that lead to one, and those that lead nowhere.
ROUND = { 'r' => 'r', 'x1/r' => '../r', 'r1' => 'x3/r2', 'x3/r2' => '../r1', 'y/c.yaml' => 'c.yaml', 'n' => 'none', 'x3/n' => '../n/x',
          'x1/x2/t' => '../../r/x', 'y/r' => '../x1' }.freeze
TO_ROUND = %w[r r/ r r? r1 {r,x1} {x1,r1} r2 t n r/.. [r] r* y x3 \\r {r,n}/ */ x1/r].freeze

def some(random, count, names, length) = Array.new(count) { Array.new(random.rand(1..length)) { names[random.rand(names.size)] }.join('/') }

def found(pattern)
  Dir.glob(pattern).reject { |path| File.directory?(path) }
rescue SystemCallError => e
  e.message
end

def tree(files, links, patterns)
  found = Dir.mktmpdir do |root|
    Dir.chdir(root) do
      files.each { |path| FileUtils.mkdir_p(File.dirname(path)) && File.write(path, '') }
      links.each { |path, target| File.symlink(target, path) }
      patterns.uniq.map { |pattern| [pattern, found(pattern)] }
    end
  end
  fixture = files.map { |path| "-- #{path}\n" } + links.map { |path, target| "-- #{path} -> #{target}\n" }
  [fixture.join, found]
end

count, seed = ARGV.map(&:to_i)
random = Random.new(seed || 1)
share = ->(part) { count ? count / 3 : part }
patterns = some(random, share[900], NAMES, 4)
patterns += Array.new(share[400]) do
  Array.new(random.rand(1..3)) { (random.rand < 0.6 ? ESCAPED : NAMES).sample(random: random) }.join('/')
end
round = Array.new(share[500]) do
  Array.new(random.rand(1..4)) { (random.rand < 0.5 ? TO_ROUND : NAMES).sample(random: random) }.join('/').squeeze('/')
end
# The last `**/` looks whether the folder is there before it is listed, and a name between two slashes is empty.
round += %w[r/**/ r/**// */**/ */**// {r,x1}/**/ x1/{r,y}/**/ r/**/**/ r/*/**/ r?/a/**/ **/r/**/ r/x1//* r//*] unless count
patterns += %w[**/?/*//[a-c]* **//a **//* x1//a x1//* *//* *//a **/x1//* **/x1//a **/*//x2/* x1/**//a .//a **/{}/a {x1/,y}/a **/{x1/,y}/a] unless count
# Wildcards that are escaped are names, and nothing is listed for them.
round += %w<\\* \\? \\[a \\[a\\] a\\* \\[*>.flat_map { |name| ["*/#{name}/b", "r/#{name}", "r?/#{name}/b/*", "#{name}/r", "[^a]*/#{name}/a/b"] } unless count
trees = [tree(FILES, LINKS, patterns), tree(FILES - ROUND.keys, LINKS.merge(ROUND), round)]
texts = trees.map do |fixture, found|
  "{\"fixture\": #{JSON.generate(fixture)},\n \"patterns\": [\n#{found.map { |one| "  #{JSON.generate(one)}" }.join(",\n")}\n]}"
end
text = "[#{texts.join(",\n")}]\n"
count ? puts(text) : File.write(File.expand_path('../vectors/glob.json', __dir__), text)
warn "#{trees.sum { |_, found| found.size }} patterns"
