# frozen_string_literal: true

# Has Ruby's own ways to reach files and programs tell of what they are asked for, before they do it. It decides nothing.
require 'pathname'
require 'zlib'

module Watch
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

  # Has methods of `owner` do what is in the block before anything else. The block gets their arguments.
  def self.methods_of(owner, names)
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
  def self.kernel(names)
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

  # Has all that runs a program do what is in the block before.
  def self.programs(&block)
    [IO.singleton_class, Process.singleton_class].each { |owner| methods_of(owner, PROGRAMS + %i[popen], &block) }
    kernel(PROGRAMS, &block)
  end

  # Returns the text that an argument has for a path; the argument itself if it has none.
  def self.text(path)
    path = path.to_path if path.respond_to?(:to_path)
    path.respond_to?(:to_str) ? path.to_str : path
  end
end
