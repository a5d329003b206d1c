#!/usr/bin/env ruby
# frozen_string_literal: true

# Takes tests/vectors/specs.yaml to Puppet's own tests: each scenario there must be in one group, and each line of a
# group must begin a scenario.
#
#   ruby check_specs.rb DIR        a checkout of Puppet 8.10.0
require 'yaml'

INDEX = YAML.load_file(File.expand_path('../vectors/specs.yaml', __dir__))

def ranges(text)
  text.to_s.split.map { |range| Range.new(*range.split('-', 2).values_at(0, -1).map(&:to_i)) }
end

# Returns the faults of one file as texts.
def problems(path, groups)
  lines = File.readlines(path)
  scenarios = (1..lines.size).select { |number| lines[number - 1].match?(/\A\s*it ['"]/) }
  groups = groups.transform_values { |group| ranges(group['at']) }
  lost = scenarios.filter_map do |line|
    names = groups.select { |_, ranges| ranges.any? { |range| range.cover?(line) } }.keys
    "#{line} is in #{names.size} groups: #{lines[line - 1].strip} #{names}" unless names.size == 1
  end
  ends = groups.flat_map { |name, ranges| ranges.flat_map { |range| [range.begin, range.end] }.map { |line| [name, line] } }
  lost + ends.filter_map { |name, line| "#{line} begins no scenario: #{name}" unless scenarios.include?(line) }
end

files = INDEX.select { |path, _| path.start_with?('spec/') }
found = files.to_h { |path, groups| [path, problems(File.join(ARGV.fetch(0), path), groups)] }
found.each { |path, problems| problems.each { |problem| puts "#{path}:#{problem}" } }
puts "#{files.size} files, #{found.values.sum(&:size)} problems"
exit(found.values.all?(&:empty?))
