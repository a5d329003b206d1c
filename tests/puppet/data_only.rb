# frozen_string_literal: true

# Keeps Puppet and Hiera from running code of a repository or of its modules: functions, data types, types, the script
# for the version of the configuration, objects in YAML, and backends that a path names. Code of the installation runs.
# The programs beside this file load it if they are called with --data-only.
require 'date'
require 'yaml'
begin
  require 'hiera'
rescue LoadError # Puppet 8 need not have it
  nil
end

module DataOnly
  # Finds nothing in the environment and in modules, whatever loads there.
  module Loader
    def find(typed_name)
      super if loader_name == 'puppet_system'
    end

    Puppet::Pops::Loader::ModuleLoaders::AbstractPathBasedModuleLoader.prepend(self)
  end

  # The same for the older way to load.
  module Autoload
    def module_directories(_environment) = []

    Puppet::Util::Autoload.singleton_class.prepend(self)
  end

  # environment.conf names a program to run.
  module Environment
    def config_version = nil

    Puppet::Node::Environment.prepend(self)
  end

  # YAML holds plain values, as with every Psych since 4.
  module Yaml
    PLAIN = [Symbol, Date, Time, DateTime].freeze

    def unsafe_load(yaml, **) = safe_load(yaml, permitted_classes: PLAIN, aliases: true)

    def load(yaml, *_, **) = Psych::VERSION.to_i < 4 ? unsafe_load(yaml) : super

    YAML.singleton_class.prepend(self)
  end

  # Hiera 3 requires the files of backends and of the logger by name.
  module Backends
    def load_backends
      DataOnly.plain(*self[:backends])
      super
    end

    Hiera::Config.singleton_class.prepend(self) if defined?(Hiera)
  end

  module Logger
    def logger=(name)
      DataOnly.plain(name)
      super
    end

    Hiera.singleton_class.prepend(self) if defined?(Hiera)
  end

  def self.plain(*names)
    odd = names.find { |name| !name.to_s.match?(/\A\w+\z/) }
    raise "hiera.yaml names the file of a backend or logger, #{odd.inspect}: --run-code loads it" if odd
  end
end
