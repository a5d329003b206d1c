# frozen_string_literal: true

# What `bridge.rb` and `manifests.rb` beside this file have in common: they make random repositories, and count what
# hierad and Puppet find in them.
require 'open3'
require 'optparse'

# The options of the command line. Puppet is loaded from `--puppet-lib`, if that is there.
def options_of(defaults)
  options = { seed: Time.now.to_i }.merge(defaults)
  OptionParser.new do |parser|
    parser.on('--hierad PATH') { |path| options[:hierad] = File.expand_path(path) }
    parser.on('--repos N', Integer) { |number| options[:repos] = number }
    parser.on('--commits N', Integer) { |number| options[:commits] = number }
    parser.on('--seed N', Integer) { |number| options[:seed] = number }
    parser.on('--puppet-lib DIR') { |folder| options[:lib] = folder }
    parser.on('--keep DIR') { |folder| options[:keep] = File.expand_path(folder) }
  end.parse!
  abort('--hierad is missing') unless options[:hierad]
  options
end

# Runs a program in a folder.
def run(folder, *command, env: {})
  out, err, status = Open3.capture3(env, *command, chdir: folder)
  [out, err, status.exitstatus]
end

# The counts of what was compared, and the differences.
class Tally
  attr_reader :counts, :found

  def initialize
    @counts = Hash.new(0)
    @found = []
  end

  # Prints what came of so many repositories, and ends: with 0 if there is no difference, else with 1.
  def tell(options)
    puts found.first(20)
    puts "seed #{options[:seed]}, #{options[:repos]} repositories: #{counts.map { |name, count| "#{count} #{name}" }.join(', ')}"
    exit(found.empty? ? 0 : 1)
  end

  private

  def count(what)
    @counts[what] += 1
  end

  def differ(repository, place, ours, theirs)
    count(:different)
    @found << "#{repository.folder}: #{Array(place).join(' ')}: hierad #{ours.inspect}, Puppet #{theirs.inspect}"
  end
end
