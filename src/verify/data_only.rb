# frozen_string_literal: true

# Keeps Puppet and Hiera from running code of a repository or of its modules: functions, data types, types, the script
# for the version of the configuration, objects in YAML, and backends that a path names. Code of the installation runs,
# as far as hierad has the like. No file is opened that hierad would not read.
# The programs beside this file load it if they are called with --data-only.
require 'date'
require 'yaml'
require_relative File.exist?(File.join(__dir__, 'watch.rb')) ? 'watch' : '../functions/bridge/watch'
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

  # Levels call the functions that hierad has, whatever else of Puppet's would take the arguments: some read files or
  # run programs.
  module Functions
    KNOWN = %w[eyaml_lookup_key hocon_data json_data yaml_data].freeze

    def load_function(_lookup_invocation)
      raise NotAsked, "the function '#{@function_name}'" unless KNOWN.include?(@function_name)

      super
    end

    Puppet::Pops::Lookup::FunctionProvider.prepend(self)
  end

  # hiera-eyaml opens blocks by the plugin that a block names, and with a variable that options name.
  module Encryption
    def find(scheme = nil)
      raise NotAsked, "the encryption #{scheme}" unless scheme.nil? || scheme.casecmp?('pkcs7')

      super
    end

    def self.watch
      require 'hiera/backend/eyaml'
      require 'hiera/backend/eyaml/encryptor'
      Hiera::Backend::Eyaml::Encryptor.singleton_class.prepend(self)
      require 'hiera/backend/eyaml/options'
      Hiera::Backend::Eyaml::Options.singleton_class.prepend(Variables)
    rescue LoadError # hiera-eyaml need not be there
      nil
    end

    module Variables
      def [](name)
        variable = super
        raise NotAsked, "the variable #{variable}" if variable && name.to_s.end_with?('_env_var') && !Reach.variable?(variable)

        variable
      end
    end
  end

  # While keys are looked up, Ruby opens files of the installation and those of the request, loads code of the installation
  # only, and runs no program.
  module Reach
    # Methods of File that change what is at a path.
    CHANGES = %i[chmod chown delete lchmod lchown link lutime mkfifo rename symlink truncate unlink utime].freeze

    class << self
      def hold(request, own)
        keys = request['eyaml_allowed'] || {}
        @keys = keys['files'] || []
        @variables = keys['variables'] || []
        @folders = real([*request['within'], *own]) + library
        @global = request['global']
        yield
      ensure
        @folders = nil
      end

      # Does what is in the block as Puppet does by itself.
      def release
        folders, @folders = @folders, nil
        yield
      ensure
        @folders = folders
      end

      def variable?(name)
        @folders.nil? || @variables.include?(name)
      end

      def inside?(path, folders = @folders)
        folders.nil? || folders.any? { |folder| path == folder || path.start_with?("#{folder}/") }
      end

      # Takes note that a file is opened.
      def open(receiver, path)
        return unless @folders
        raise NotAsked, 'a connection' if defined?(BasicSocket) && receiver.is_a?(Class) && receiver <= BasicSocket

        path = Watch.text(path)
        return if !path.is_a?(String) || path.include?("\0") || path == File::NULL
        raise NotAsked, 'a program' if path.start_with?('|')

        real = place(path)
        raise NotAsked, "the file #{path}" unless real.nil? || inside?(real) || named?(path)
      end

      # Takes note that code is loaded: by a name that is looked for in the folders of the installation, or a file there.
      def load(name, by_name)
        name = Watch.text(name)
        return unless @folders && name.is_a?(String)
        return if by_name && !name.start_with?('/', '~', '.') && !name.split('/').include?('..')

        real = place(name)
        raise NotAsked, "the code #{name}" unless real && inside?(real, library)
      end

      def program
        raise NotAsked, 'a program' if @folders
      end

      def watch
        opens = ->(receiver, arguments) { open(receiver, arguments.first) }
        changes = ->(receiver, arguments) { arguments.each { |path| open(receiver, path) } }
        Watch.methods_of(File.singleton_class, CHANGES, &changes)
        Watch.methods_of(Dir.singleton_class, %i[delete mkdir rmdir unlink], &changes)
        [[IO, Watch::OF_IO], [Zlib::GzipReader, %i[open]], [Zlib::GzipWriter, %i[open]]].each do |owner, names|
          Watch.methods_of(owner.singleton_class, names, &opens)
        end
        Watch.methods_of(IO, %i[reopen], &opens)
        Watch.kernel(%i[open], &opens)
        Watch.kernel(%i[require]) { |_, arguments| load(arguments.first, true) }
        Watch.kernel(%i[load]) { |_, arguments| load(arguments.first, false) }
        Watch.programs { program }
      end

      private

      # The folders of the installation.
      def library
        @library ||= real($LOAD_PATH + Gem.path)
      end

      def real(folders)
        folders.filter_map { |folder| place(folder) }.map { |folder| folder.chomp('/') }
      end

      # Where a path leads; nil if nothing can be there.
      def place(path)
        File.realdirpath(path)
      rescue SystemCallError
        nil
      end

      # What the request or a level of a global layer that reads all names, and keys.
      def named?(path)
        path == @global || Confined.found?(path) ||
          @keys.any? { |glob| File.fnmatch?(glob.sub(%r{/\*\*\z}, '/**/*'), path, File::FNM_PATHNAME) }
      end
    end
  end

  # For some of its settings Puppet asks Facter, which runs programs.
  module Settings
    def merge_settings(*)
      Reach.release { super }
    end

    Puppet::Parser::Scope.prepend(self)
  end

  # Modules elsewhere are none.
  module Modules
    def modulepath
      super.select { |folder| Reach.inside?(File.realpath(folder)) }
    end

    Puppet::Node::Environment.prepend(self)
  end

  def self.hold(request, own, &block) = Reach.hold(request, own, &block)

  Encryption.watch
  Reach.watch
end
