#!/usr/bin/env ruby
# frozen_string_literal: true

# Records which variables the class `settings` of the real Puppet has, so that the tests need no Puppet.
#
#   ruby record_settings.rb --puppet8-lib DIR
#
# The installed Puppet is version 7, DIR (or PUPPET8_LIB) is the library folder of a Puppet 8. It writes
# tests/vectors/settings.json:
#
#   {"puppet7": [NAME...], "puppet8": [NAME...]}
require 'json'
require 'open3'

# Run by the Ruby of either Puppet.
PROGRAM = <<~RUBY
  require 'json'
  require 'puppet'
  require 'puppet/parser/compiler'
  Puppet.initialize_settings([])
  node = Puppet::Node.new('n', environment: Puppet::Node::Environment.create(:production, []))
  compiler = Puppet::Parser::Compiler.new(node)
  compiler.send(:set_node_parameters)
  compiler.send(:create_settings_scope)
  names = compiler.qualified_variables.keys.grep(/\\Asettings::/)
  puts JSON.generate(names.map { |name| name.delete_prefix('settings::') }.sort)
RUBY

def names(*options)
  output, status = Open3.capture2('ruby', '-W0', *options, '-e', PROGRAM)
  abort 'Puppet failed' unless status.success?
  JSON.parse(output)
end

puppet8_lib = ARGV.first == '--puppet8-lib' ? ARGV[1] : ENV.fetch('PUPPET8_LIB', nil)
abort 'need --puppet8-lib DIR or PUPPET8_LIB' unless puppet8_lib && File.directory?(puppet8_lib)
recorded = { puppet7: names, puppet8: names('-I', puppet8_lib) }
lines = recorded.map { |field, all| "#{JSON.generate(field)}: #{JSON.generate(all)}" }
File.write(File.expand_path('../vectors/settings.json', __dir__), "{#{lines.join(",\n ")}}\n")
puts recorded.map { |field, all| "#{field}: #{all.size} settings" }
