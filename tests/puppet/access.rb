#!/usr/bin/env ruby
# frozen_string_literal: true

# Tries the ways in which Ruby looks at files against `src/functions/bridge/access.rb`, which holds functions to the files
# that they are promised to read: `ruby tests/puppet/access.rb`. `tests/puppet/bridge.rb` does it first.
require 'csv'
require 'find'
require 'fileutils'
require 'json'
require 'open3'
require 'pathname'
require 'tmpdir'
require 'yaml'
require 'puppet'

class Unknown < Exception # rubocop:disable Lint/InheritException
end
require_relative '../../src/functions/bridge/access'
Access.watch_all

BASE = File.realpath(Dir.mktmpdir)
at_exit { FileUtils.rm_rf(BASE) }
ROOT = "#{BASE}/data/1"
OWN = "#{ROOT}/h/common"
OTHER = "#{ROOT}/h/other.yaml"
FileUtils.mkdir_p(["#{OWN}/x", "#{ROOT}/h/other"])
["#{OWN}.yaml", "#{OWN}/x/y.yaml", OTHER].each { |path| File.write(path, 'a: 1') }

def refused?(&block)
  Access.within(ROOT, OWN, &block)
  false
rescue Unknown
  true
rescue StandardError
  false
end

# Tests for existence, and what is done with one path.
LOOKS = {
  'File.exist?' => ->(path) { File.exist?(path) }, 'File.file?' => ->(path) { File.file?(path) }, 'File.stat' => ->(path) { File.stat(path) },
  'FileTest' => ->(path) { FileTest.exist?(path) }, 'Pathname#exist?' => ->(path) { Pathname.new(path).exist? },
  'Puppet' => ->(path) { Puppet::FileSystem.exist?(path) }, 'test' => ->(path) { test(?e, path) }, 'File::Stat' => ->(path) { File::Stat.new(path) },
  'Pathname#realpath' => ->(path) { Pathname.new(path).realpath }, 'File.realpath' => ->(path) { File.realpath(path) },
  'Dir.exist?' => ->(path) { Dir.exist?(path) }, 'Dir.glob' => ->(path) { Dir.glob(path) }
}.freeze
# What is done with a file.
READS = {
  'File.read' => ->(path) { File.read(path) }, 'IO.read' => ->(path) { IO.read(path) }, 'binread' => ->(path) { File.binread(path) },
  'File.open' => ->(path) { File.open(path, mode: 'r', encoding: 'utf-8', &:read) }, 'open' => ->(path) { open(path, 'r', &:read) },
  'File.new' => ->(path) { File.new(path).close }, 'readlines' => ->(path) { IO.readlines(path) }, 'foreach' => ->(path) { File.foreach(path) { |_| } },
  'YAML' => ->(path) { YAML.load_file(path) }, 'CSV' => ->(path) { CSV.read(path) }, 'Pathname#read' => ->(path) { Pathname.new(path).read },
  'Pathname#each_line' => ->(path) { Pathname.new(path).each_line { |_| } }, 'sysopen' => ->(path) { IO.for_fd(IO.sysopen(path)).close },
  'Puppet read' => ->(path) { Puppet::FileSystem.read(path, encoding: 'utf-8') }, 'copy_stream' => ->(path) { IO.copy_stream(path, File::NULL) },
  'gzip' => ->(path) { Zlib::GzipReader.open(path) }, 'cp' => ->(path) { FileUtils.cp(path, File::NULL) }
}.freeze
# What lists a folder.
LISTS = {
  'children' => ->(path) { Dir.children(path) }, 'entries' => ->(path) { Dir.entries(path) }, 'each_child' => ->(path) { Dir.each_child(path) { |_| } },
  'Dir.new' => ->(path) { Dir.new(path).close }, 'Dir.open' => ->(path) { Dir.open(path).close }, 'find' => ->(path) { Find.find(path) { |_| } },
  'glob' => ->(path) { Dir.glob("#{path}/*.yaml") }, 'glob of several' => ->(path) { Dir.glob(["#{OWN}/*", "#{path}/x*"]) },
  'glob base' => ->(path) { Dir.glob('**/*', base: path) }, '[]' => ->(path) { Dir["#{path}/{a,b}*"] },
  'Pathname#children' => ->(path) { Pathname.new(path).children }, 'Pathname#glob' => ->(path) { Pathname.new(path).glob('*') },
  'Pathname.glob' => ->(path) { Pathname.glob("#{path}/*") }, 'Pathname#each_entry' => ->(path) { Pathname.new(path).each_entry { |_| } },
  'chdir' => ->(path) { Dir.chdir(path) { |_| } }
}.freeze
PROGRAMS = {
  'system' => -> { system('true') }, 'spawn' => -> { Process.wait(spawn('true')) }, '`' => -> { `true` }, 'popen' => -> { IO.popen('true', &:read) },
  'open3' => -> { Open3.capture2('true') }, 'Process.spawn' => -> { Process.wait(Process.spawn('true')) }
}.freeze

wrong = []
try = lambda do |ways, path, is_refused|
  ways.each { |name, way| wrong << "#{name} #{path}" unless refused? { way.call(path) } == is_refused }
end
[OWN, "#{OWN}.yaml", "#{OWN}/x/y.yaml", "#{OWN}/none", "#{OWN}/x/../../common.yaml", __FILE__, "#{BASE}/code"].each { |path| try.call(LOOKS, path, false) }
[OTHER, "#{ROOT}/h", "#{ROOT}/h/commons.yaml", "#{ROOT}/h/common-x", "#{OWN}.d/x", "#{OWN}/x/../../none", "#{BASE}/data/2/h/common"].each do |path|
  try.call(LOOKS, path, true)
end
try.call(READS, "#{OWN}.yaml", false)
try.call(READS, OTHER, true)
try.call(LISTS, OWN, false)
try.call(LISTS, "#{ROOT}/h", true)
try.call({ 'glob upwards' => ->(path) { Dir.glob("#{path}/*/../../o*") }, 'glob of names' => ->(path) { Dir.glob("#{path}*") } }, OWN, true)
PROGRAMS.each { |name, way| wrong << name unless refused?(&way) }
# Nothing is noted where nothing is promised.
wrong << 'without a promise' unless File.exist?(OTHER) && system('true')
puts wrong.map { |text| "wrong: #{text}" }
exit(wrong.empty? ? 0 : 1)
