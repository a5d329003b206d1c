# frozen_string_literal: true

# Notes which files a function reads: one whose answers depend on some files only, as the settings promise, must not look
# at others. Tests for existence and lists of folders count. What is below the folder of the files and not promised is an
# error before it is looked at, so a wrong promise gives no wrong answer.
require_relative 'watch'

# The promise of the call that is made.
module Access
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
        pattern = Watch.text(pattern)
        pattern = File.join(Watch.text(base), pattern) if base && !pattern.start_with?('/')
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

    def check(path)
      path = Watch.text(path)
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

  def self.watch_all
    texts = ->(_, arguments) { note(*arguments) }
    [[File, Watch::OF_FILES], [FileTest, Watch::OF_FILES], [IO, Watch::OF_IO], [Dir, Watch::OF_FOLDERS], [File::Stat, %i[new]]].each do |owner, names|
      Watch.methods_of(owner.singleton_class, names, &texts)
    end
    [Zlib::GzipReader, Zlib::GzipWriter].each { |owner| Watch.methods_of(owner.singleton_class, %i[open], &texts) }
    Watch.methods_of(Dir.singleton_class, %i[glob []]) do |_, arguments|
      options = arguments.last.is_a?(Hash) ? arguments.last : {}
      patterns = arguments.first.is_a?(Array) ? arguments.first : arguments
      note_patterns(patterns.reject { |pattern| pattern.is_a?(Hash) || pattern.is_a?(Integer) }, options[:base])
    end
    Watch.methods_of(Pathname, %i[realpath realdirpath]) { |path, _| note(path) }
    Watch.methods_of(IO, %i[reopen], &texts)
    Watch.kernel(%i[open load require test], &texts)
    Watch.programs { note_program }
  end
end
