module Hotc
  # Writes reports every change of the node's attributes to the run's outputs, once for each
  # call by a recipe, not for Chef's internal ones.
  module Writes
    # setters replace a whole level
    LEVELS = %i{default role_default env_default force_default normal override role_override env_override force_override automatic}.freeze
    # writers of several levels, or with a path
    COMPOUND = %i{rm rm_default rm_normal rm_override default! normal! override! force_default! force_override!
      write write! unlink unlink!}.freeze
    # writers that keep existing values: naming a path is enough
    UNLESS = %i{default_unless normal_unless override_unless}.freeze

    class << self
      def install
        Chef::Node::Attribute.prepend(attribute_writers)
        Chef::Node::VividMash.prepend(mutators(Chef::Node::VividMash::MUTATOR_METHODS + %i{[]= delete write write! unlink unlink!}, Chef::Node::VividMash))
        Chef::Node::AttrArray.prepend(mutators(Chef::Node::AttrArray::MUTATOR_METHODS + %i{<< []= delete}, Chef::Node::AttrArray))
        Chef::Node.prepend(attribute_files)
      end

      # during reports a change to the outputs when the outermost writer is done. path is the
      # place of the change, or above it, if known.
      def during(collection, path, below = false)
        outputs = Hotc.run.outputs
        return yield unless outputs.armed? && !@inside

        @inside = true
        begin
          result = yield
        ensure
          @inside = false
        end
        outputs.changed(path, below) unless root_of(collection).nil?
        result
      end

      # The path of a collection is known once it was reached by its keys.
      def path_of(collection)
        path = collection.__path__
        path unless path.nil? || (path.empty? && !level?(collection))
      end

      # named is the path passed to a writer of Attribute.
      def named(name, args)
        case name
        when :write, :write! then args[1...-1]
        when *UNLESS, :default!, :normal!, :override!, :force_default!, :force_override! then args[0...-1]
        end
      end

      private

      def root_of(collection)
        root = collection.is_a?(Chef::Node::Attribute) ? collection : collection.__root__
        root if root.equal?(Hotc.run.attributes)
      end

      def level?(collection)
        LEVELS.any? { |level| Hotc.run.attributes.send(level).equal?(collection) }
      end

      def attribute_writers
        Module.new do
          LEVELS.each do |level|
            define_method(:"#{level}=") { |data| Writes.during(self, nil) { super(data) } }
          end
          (COMPOUND + UNLESS).each do |name|
            next unless Chef::Node::Attribute.method_defined?(name)

            define_method(name) do |*args, &block|
              next super(*args, &block) if args.empty?

              path = Writes.named(name, args)
              Writes.during(self, path) { super(*args, &block) }
            end
          end
        end
      end

      def mutators(names, collection)
        Module.new do
          names.uniq.each do |name|
            next unless collection.method_defined?(name)

            define_method(name) do |*args, &block|
              next super(*args, &block) if __root__.nil? || !Hotc.run.outputs.armed?

              path = Writes.path_of(self)
              below = !%i{[]= store}.include?(name) || args.length != 2
              path += [args.first] if path && !below
              Writes.during(self, path, below) { super(*args, &block) }
            end
          end
        end
      end

      # the next attribute file may override it
      def attribute_files
        Module.new do
          def from_file(*args)
            return super unless equal?(Hotc.run.node)

            Hotc.run.outputs.provisionally { super }
          end
        end
      end
    end
  end
end
