module Hotc
  # Copies settles the leaves of a mash wherever Ruby's own code is about to read its
  # table without calling its methods: where it is merged into another hash, compared with
  # one, or passed by `**`. Otherwise the copy would contain the Pending, which is truthy and
  # of no class.
  module Copies
    class << self
      def install
        Hash.prepend(Into)
        Hash.prepend(Beside)
        Hash.singleton_class.prepend(From)
        ENV.singleton_class.prepend(Into)
        Struct.prepend(Fields)
      end

      # own waits for the leaves of our mashes among some arguments.
      def own(arguments)
        arguments.each { |a| a.__hotc_own__ if Reads::Waiting === a }
      end
    end

    # Into wraps the methods that copy other hashes into one.
    module Into
      %i{merge merge! update}.each do |name|
        class_eval("def #{name}(*others) Copies.own(others); super; end", __FILE__, __LINE__)
      end

      def replace(other)
        other.__hotc_own__ if Reads::Waiting === other
        super
      end
    end

    # Beside wraps the methods that compare a hash, and all below, with another.
    module Beside
      %i{== eql? <= < >= >}.each do |name|
        class_eval("def #{name}(other) other.__hotc_all__ if Reads::Waiting === other; super; end", __FILE__, __LINE__)
      end
    end

    # From copies a hash: Hash[other].
    module From
      def [](*others)
        Copies.own(others)
        super
      end
    end

    # Fields are set by name: Struct.new(:a, keyword_init: true).new(other).
    module Fields
      def initialize(*values)
        Copies.own(values)
        super
      end
      ruby2_keywords(:initialize) if respond_to?(:ruby2_keywords, true)
    end
  end

  # splat is called by rewritten cookbook code with the operand of `**`.
  def self.splat(value)
    value.__hotc_own__ if Reads::Waiting === value
    value
  end

  # Splats rewrites `**value`, which Ruby copies without calling anything, to
  # `**::Hotc.splat((value))` in recipes, attribute files, resources, libraries and
  # templates. Line numbers do not change.
  module Splats
    class << self
      def install
        Chef::Mixin::FromFile.module_eval(FROM_FILE, __FILE__, __LINE__)
        RubyVM::InstructionSequence.singleton_class.prepend(Libraries)
        require "erubis"
        Erubis::Eruby.prepend(Templates)
      end

      # file is a file's rewritten text, nil if it has no splats.
      def file(name)
        text = File.read(name) if File.file?(name)
        mended = rewrite(text) if text && text.include?("**")
        mended unless mended.equal?(text)
      end

      # rewrite rewrites the splats of a text.
      def rewrite(text)
        return text unless text.include?("**")

        lines, at = [0], 0
        text.each_line { |line| lines << (at += line.bytesize) }
        inserts = splats(parse(text)).flat_map do |value|
          [[lines[value.first_lineno - 1] + value.first_column, "::Hotc.splat(("], [lines[value.last_lineno - 1] + value.last_column, "))"]]
        end
        return text if inserts.empty?

        mended = text.b
        inserts.sort_by.with_index { |(place, _), i| [-place, -i] }.each { |place, piece| mended.insert(place, piece) }
        mended.force_encoding(text.encoding).tap { |t| parse(t) }
      rescue SyntaxError
        raise Failure, "hotc: a copy by ** in this code cannot be rewritten: use .to_h.merge" if mended

        text # Chef reports the error
      end

      private

      def parse(text)
        verbose, $VERBOSE = $VERBOSE, nil
        RubyVM::AbstractSyntaxTree.parse(text)
      ensure
        $VERBOSE = verbose
      end

      # splats are the operands of `**`: in the list of a hash's keys and values, those
      # without a key.
      def splats(node, found = [])
        return found unless node.is_a?(RubyVM::AbstractSyntaxTree::Node)

        if node.type == :HASH && (list = node.children.first)
          list.children.each_slice(2) { |key, value| found << value if key.nil? && value && value.type != :HASH }
        end
        node.children.each { |child| splats(child, found) }
        found
      end
    end

    # As in Chef; the visible names are the same, too.
    FROM_FILE = <<~'RUBY'.freeze
      alias_method :__hotc_from_file__, :from_file
      alias_method :__hotc_class_from_file__, :class_from_file

      def from_file(filename)
        return __hotc_from_file__(filename) unless ::Hotc::Splats.file(filename)

        self.source_file = filename if respond_to?(:source_file=)
        instance_eval(::Hotc::Splats.file(filename), filename, 1)
      end

      def class_from_file(filename)
        return __hotc_class_from_file__(filename) unless ::Hotc::Splats.file(filename)

        self.source_file = filename if respond_to?(:source_file=)
        class_eval(::Hotc::Splats.file(filename), filename, 1)
      end
    RUBY

    # Libraries are files that Ruby loads.
    module Libraries
      def load_iseq(path)
        text = Splats.file(path) if path.include?("/libraries/")
        return compile(text, path, path) if text

        super if defined?(super)
      end
    end

    # Templates contain Ruby code.
    module Templates
      def convert(*)
        Splats.rewrite(super)
      end
    end
  end
end
