# frozen_string_literal: true

# Notes which files a function reads: one whose answers depend on some files only, as the settings promise, must not look
# at others. Tests for existence and lists of folders count. What is below the folder of the files and not promised is an
# error before it is looked at, so a wrong promise gives no wrong answer.
require 'pathname'
require 'zlib'

# The promise of the call that is made.
module Access
  # Methods of File and FileTest whose texts are paths.
  OF_FILES = %i[
    atime birthtime blockdev? chardev? chmod chown ctime delete directory? empty? executable? executable_real? exist? exists? file? ftype
    grpowned? identical? lchmod lchown link lstat lutime mkfifo mtime owned? pipe? readable? readable_real? readlink realdirpath realpath
    rename setgid? setuid? size size? socket? stat sticky? symlink symlink? truncate unlink utime world_readable? world_writable?
    writable? writable_real? zero?
  ].freeze
  OF_IO = %i[binread binwrite copy_stream foreach new open read readlines sysopen write].freeze
  OF_FOLDERS = %i[chdir children chroot delete each_child empty? entries exist? exists? foreach mkdir new open rmdir unlink].freeze
  PROGRAMS = %i[` exec fork spawn system].freeze

  class << self
    # Does what is in the block, which may look at `path` below the folder `root`; at anything if `path` is nil.
    def within(root, path)
      @folder = root && "#{File.dirname(root)}/"
      @root = root
      @path = path
      yield
    ensure
      @path = nil
    end

    # Takes note that paths are looked at, which are the texts among these.
    def note(*paths)
      return unless @path

      paths.each { |path| check(path) }
    end

    # Takes note that the folders of patterns are listed.
    def note_patterns(patterns, base)
      return unless @path

      patterns.each do |pattern|
        pattern = text(pattern)
        pattern = File.join(text(base), pattern) if base && !pattern.start_with?('/')
        magic = pattern.index(/[*?\[{\\]/)
        if magic
          refuse(pattern) if pattern[magic..].include?('..')
          pattern = "#{File.dirname("#{pattern[0...magic]}x")}/."
        end
        check(pattern)
      end
    end

    def note_program
      raise Unknown, "runs a program, which may read what 'reads: path' does not promise: remove 'reads'" if @path
    end

    private

    def text(path)
      path = path.to_path if path.respond_to?(:to_path)
      path.respond_to?(:to_str) ? path.to_str : path
    end

    def check(path)
      path = text(path)
      return unless path.is_a?(String) && !path.include?("\0")

      path = File.absolute_path(path)
      refuse(path) if "#{path}/".start_with?(@folder) && !promised?(path)
    end

    # The path itself, with an ending, or below it.
    def promised?(path)
      return false unless path.start_with?(@path)

      rest = path[@path.size..]
      rest.empty? || rest.start_with?('/') || (rest.start_with?('.') && !rest.include?('/'))
    end

    def refuse(path)
      raise Unknown, "reads #{path.delete_prefix("#{@root}/")}, which 'reads: path' does not promise: remove 'reads'"
    end
  end

  # Has methods of `owner` do what is in the block before anything else. The block gets their arguments.
  def self.watch(owner, names)
    names = names.select { |name| owner.method_defined?(name) || owner.private_method_defined?(name) }
    owner.prepend(Module.new do
      names.each do |name|
        define_method(name) do |*arguments, &block|
          yield(self, arguments)
          super(*arguments, &block)
        end
        ruby2_keywords(name)
        private(name) if owner.private_method_defined?(name)
      end
    end)
  end

  # The same for methods of Kernel, which all objects have had before.
  def self.watch_kernel(names)
    [Kernel, Kernel.singleton_class].each do |owner|
      names.each do |name|
        original = owner.instance_method(name)
        is_private = owner.private_method_defined?(name)
        owner.define_method(name) do |*arguments, &block|
          yield(self, arguments)
          original.bind(self).call(*arguments, &block)
        end
        owner.send(:ruby2_keywords, name)
        owner.send(:private, name) if is_private
      end
    end
  end

  def self.watch_all
    texts = ->(_, arguments) { note(*arguments) }
    [[File, OF_FILES], [FileTest, OF_FILES], [IO, OF_IO], [Dir, OF_FOLDERS], [File::Stat, %i[new]]].each do |owner, names|
      watch(owner.singleton_class, names, &texts)
    end
    [Zlib::GzipReader, Zlib::GzipWriter].each { |owner| watch(owner.singleton_class, %i[open], &texts) }
    watch(Dir.singleton_class, %i[glob []]) do |_, arguments|
      options = arguments.last.is_a?(Hash) ? arguments.last : {}
      patterns = arguments.first.is_a?(Array) ? arguments.first : arguments
      note_patterns(patterns.reject { |pattern| pattern.is_a?(Hash) || pattern.is_a?(Integer) }, options[:base])
    end
    watch(Pathname, %i[realpath realdirpath]) { |path, _| note(path) }
    watch(IO, %i[reopen], &texts)
    watch_kernel(%i[open load require test], &texts)
    [IO.singleton_class, Process.singleton_class].each { |owner| watch(owner, PROGRAMS + %i[popen]) { note_program } }
    watch_kernel(PROGRAMS) { note_program }
  end
end
