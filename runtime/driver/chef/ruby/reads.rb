module Hotc
  # Reads puts the leaves of the declared inputs into the merged view of the node.
  #
  # Chef caches the merged value of a top-level key until something is written below it.
  # Right after it is computed, the mashes on declared paths are extended with Waiting and
  # their leaves replaced by Pending. No other mash is touched.
  module Reads
    RAW_GET = Hash.instance_method(:[])
    RAW_SET = Hash.instance_method(:[]=)
    RAW_DELETE = Hash.instance_method(:delete)
    RAW_KEY = Hash.instance_method(:key?)

    def self.install
      const_set(:MERGED, Chef::Node::Attribute.instance_method(:merged_attributes))
      Waiting.define
      Chef::Node::Attribute.prepend(Merged)
    end

    # plain is a key as stored by a mash.
    def self.plain(key)
      key.is_a?(Symbol) ? key.to_s : key
    end

    # graft makes a mash wait for the leaves of a branch.
    def self.graft(mash, branch, root)
      hidden = {}
      branch.branches.each do |key, below|
        child = RAW_GET.bind(mash).call(key)
        child = child.call while child.is_a?(Chef::DelayedEvaluator)
        child = Chef::Node::ImmutableMash.new({}, root) unless child.is_a?(Chef::Node::ImmutableMash)
        RAW_SET.bind(mash).call(key, graft(child, below, root))
      end
      branch.leaves.each do |key, input|
        hidden[key] = RAW_GET.bind(mash).call(key) if RAW_KEY.bind(mash).call(key)
        RAW_SET.bind(mash).call(key, Pending.new(input, hidden[key]))
      end
      mash.instance_variable_set(:@__hotc__, Leaves.new(branch, hidden))
      mash.extend(Waiting)
    end

    # Leaves are the leaves of a grafted mash, and the values that they hide.
    class Leaves
      attr_reader :waiting, :branches

      def initialize(branch, hidden)
        @waiting, @branches, @hidden = branch.leaves.dup, branch.branches, hidden
      end

      # settle waits for the value of one key and puts it into the mash.
      def settle(mash, key)
        input = @waiting[key] or return
        if !input.void?
          RAW_SET.bind(mash).call(key, input.merged)
        elsif @hidden.key?(key)
          RAW_SET.bind(mash).call(key, @hidden[key])
        else
          RAW_DELETE.bind(mash).call(key)
        end
        @waiting.delete(key)
      end
    end

    # Merged extends Chef::Node::Attribute, the recipes' view.
    module Merged
      # the inputs of the run's own node; other nodes (of a search) have none
      def __hotc_inputs__=(inputs)
        @__hotc_inputs__ = inputs
      end

      def [](key)
        if (inputs = @__hotc_inputs__)
          name = key.to_s
          if (below = inputs.branches[name])
            __hotc_cache__(name, key) { |merged| Reads.graft(merged, below, self) }
          elsif (input = inputs.leaves[name]) && !input.void?
            RAW_SET.bind(deep_merge_cache).call(name, input.merged)
          end
        end
        super
      end

      def merged_attributes(*path)
        merged = super
        return merged unless (at = @__hotc_inputs__)

        path.each_with_index do |key, i|
          key = Reads.plain(key)
          if (input = at.leaves[key])
            return merged if input.void?

            rest = path[(i + 1)..-1]
            return rest.empty? ? input.merged : input.merged.dig(*rest)
          end
          at = at.branches[key] or return merged
        end
        merged = Chef::Node::ImmutableMash.new({}, self) unless merged.is_a?(Chef::Node::ImmutableMash)
        Reads.graft(merged, at, self)
      end

      %i{has_key? attribute? member? include? key?}.each do |name|
        define_method(name) do |key|
          (@__hotc_inputs__ && @__hotc_inputs__.key?(Reads.plain(key))) || super(key)
        end
      end

      def exist?(*path)
        return super if @__hotc_inputs__.nil? || path.empty?
        return key?(path.first) if path.length == 1

        container = read(*path[0...-1])
        return container.key?(path.last) if container.is_a?(Hash)

        container.is_a?(Array) && path.last.is_a?(Integer) && path.last < container.length
      end

      private

      # Fills the cache of merged values: until version 17 Chef copies what it caches, and a
      # copy reads everything.
      def __hotc_cache__(name, key)
        return if RAW_KEY.bind(deep_merge_cache).call(name)

        merged = MERGED.bind(self).call(key)
        merged = Chef::Node::ImmutableMash.new({}, self) unless merged.is_a?(Chef::Node::ImmutableMash)
        RAW_SET.bind(deep_merge_cache).call(name, yield(merged))
      end
    end

    # Waiting extends a mash with leaves. A reader with a key waits for that key, one that
    # iterates for the mash's own leaves, one that converts the whole for all leaves below.
    # Tests for the presence of keys do not wait.
    module Waiting
      # readers of keys, not of values
      PRESENCE = %i{key? has_key? include? member? attribute? keys each_key size length empty? exist?
        default default_proc compare_by_identity compare_by_identity? deconstruct_keys}.freeze
      # readers that call another reader for each key, and Chef's own
      THROUGH = %i{read read! dig convert_key convert_value immutablize internal_get internal_set regular_reader regular_writer
        regular_update regular_clear regular_delete safe_dup valid_container?}.freeze
      # readers of the whole, defined for every object
      WHOLE = %i{hash inspect to_s to_json to_yaml ffi_yajl clone pretty_print <= < >= >
        to_h to_hash flatten}.freeze

      # define defines all readers; the methods of Hash and Enumerable depend on the version
      # of Ruby and on what Chef loads.
      def self.define
        mash = Chef::Node::ImmutableMash
        pairs = Hash.public_instance_methods(false) + Enumerable.public_instance_methods(false)
        all = mash.public_instance_methods - Object.public_instance_methods + WHOLE
        changing = Chef::Node::Mixin::ImmutablizeHash::DISALLOWED_MUTATOR_METHODS
        all = all.uniq - instance_methods(false) - PRESENCE - THROUGH - changing
        all.each do |name|
          next if name.to_s.start_with?("__") || name.to_s =~ /[a-z]=\z/ || !mash.method_defined?(name)

          settle = pairs.include?(name) && !WHOLE.include?(name) ? :__hotc_own__ : :__hotc_all__
          define_method(name) do |*args, &block|
            send(settle)
            super(*args, &block)
          end
          ruby2_keywords(name) if respond_to?(:ruby2_keywords, true)
        end
      end

      %i{[] fetch assoc}.each do |name|
        define_method(name) do |key, *default, &block|
          __hotc_key__(key)
          super(key, *default, &block)
        end
      end

      %i{values_at fetch_values slice}.each do |name|
        define_method(name) do |*keys, &block|
          keys.each { |key| __hotc_key__(key) }
          super(*keys, &block)
        end
      end

      def except(*keys)
        keys = keys.map { |key| Reads.plain(key) }
        (@__hotc__.waiting.keys - keys).each { |key| __hotc_key__(key) }
        super
      end

      # only maps can be equal
      %i{== eql?}.each do |name|
        define_method(name) do |other|
          __hotc_all__ if Hash === other && !equal?(other)
          super(other)
        end
      end

      def count(*args, &block)
        return size if args.empty? && block.nil?

        __hotc_own__
        super
      end

      %i{any? none?}.each do |name|
        define_method(name) do |*args, &block|
          __hotc_own__ if block || !args.empty?
          super(*args, &block)
        end
      end

      def exist?(*path)
        return super if path.empty?

        *above, last = path
        container = above.empty? ? self : read(*above)
        return container.key?(last) if container.is_a?(Hash)

        container.is_a?(Array) && last.is_a?(Integer) && last < container.length
      end

      # waits for one leaf
      def __hotc_key__(key)
        @__hotc__.settle(self, Reads.plain(key)) unless @__hotc__.waiting.empty?
      end

      # waits for the mash's own leaves
      def __hotc_own__
        @__hotc__.waiting.keys.each { |key| @__hotc__.settle(self, key) }
      end

      # waits for all leaves, including those of the mashes below
      def __hotc_all__
        __hotc_own__
        @__hotc__.branches.each_key do |key|
          child = RAW_GET.bind(self).call(key)
          child.__hotc_all__ if Waiting === child
        end
      end
    end
  end
end
