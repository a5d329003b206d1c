#!/usr/bin/env ruby
# frozen_string_literal: true

# Runs the real `puppet lookup`, many times in one process.
#
#   ruby application.rb [--puppet-lib DIR] < requests.ndjson > answers.ndjson
#
# A request is a line {"folder": DIR, "arguments": [TEXT...]}; DIR has the folders code, conf and var of a Puppet, and
# the command runs in its environment "production". It is answered by a line {"status": N, "out": TEXT, "err": TEXT}.
# --puppet-lib is the library folder of another Puppet than the installed one.
ENV['LC_ALL'] = 'C.UTF-8'
ENV['TZ'] = 'UTC'
Encoding.default_external = Encoding::UTF_8
require 'json'
require 'tempfile'
ARGV.each_cons(2) { |flag, dir| $LOAD_PATH.unshift(File.expand_path(dir)) if flag == '--puppet-lib' }
require 'puppet'
require 'puppet/util/command_line'
require 'puppet/application/lookup'
require 'puppet/pops'

def lookup(folder, arguments)
  folders = %w[conf var code].flat_map { |name| ["--#{name}dir", File.join(folder, name)] }
  Dir.chdir(File.join(folder, 'code', 'environments', 'production'))
  Puppet::Util::CommandLine.new('puppet', ['lookup', *folders, '--color', 'false', *arguments]).execute
end

# A child for each command: what one sets and keeps is not there for the next.
def answer(folder, arguments)
  printed = [$stdout, $stderr].map { Tempfile.new('printed') }
  child = fork do
    $stdin.reopen(File::NULL)
    [$stdout, $stderr].zip(printed) { |stream, file| stream.reopen(file) }
    lookup(folder, arguments)
  end
  _, status = Process.wait2(child)
  out, err = printed.map { |file| File.read(file.path) }
  { 'status' => status.exitstatus, 'out' => out, 'err' => err }
end

$stdout.sync = true
$stdin.each_line { |line| puts JSON.generate(answer(*JSON.parse(line).values_at('folder', 'arguments'))) }
