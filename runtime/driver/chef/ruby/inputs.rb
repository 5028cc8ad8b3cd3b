module Hotc
  # Input is a declared input: a leaf of the node's attributes whose value comes from
  # the agent.
  class Input
    attr_reader :name, :path

    def initialize(agent, name, path, optional)
      @agent, @name, @path, @optional = agent, name, path, optional
      @lock = Monitor.new
      @asked = false
    end

    # value waits until the value is there. It is asked for once.
    def value
      return @value if @asked

      @lock.synchronize do
        unless @asked
          @value = @agent.get(@name)
          @asked = true
        end
      end
      @value
    end

    def asked?
      @asked
    end

    # void? says that an optional input did not come: the cookbook's own attribute
    # stands. It waits.
    def void?
      @optional && value.nil?
    end

    # merged is the value as the merged view holds it: immutable. It waits.
    def merged
      @merged = Chef::Node::ImmutableMash.new.send(:convert_value, value) unless defined?(@merged)
      @merged
    end

    # pending stands for the value in a mash that nobody has read it from.
    def pending
      @pending ||= Pending.new(self)
    end
  end

  # Pending becomes the value at the first call of any of its methods. Readers in C
  # that copy a hash do not ask the hash's methods, and carry it away.
  class Pending < BasicObject
    undef_method :instance_eval, :instance_exec

    def initialize(input)
      @hotc_input = input
    end

    def !
      !@hotc_input.merged
    end

    def ==(other)
      @hotc_input.merged == other
    end

    def !=(other)
      @hotc_input.merged != other
    end

    # asked by C code before it calls anything
    def respond_to?(name, all = false)
      @hotc_input.merged.respond_to?(name, all)
    end

    def equal?(other)
      @hotc_input.merged.equal?(other)
    end

    def method_missing(name, *args, &block) # rubocop:disable Style/MissingRespondToMissing
      @hotc_input.merged.__send__(name, *args, &block)
    end
  end

  # Branch is a place in the tree of declared inputs: what hangs there.
  class Branch
    attr_reader :leaves, :branches

    def initialize
      @leaves, @branches = {}, {}
    end

    def add(input, path = input.path)
      first, *rest = path
      return @leaves[first] = input if rest.empty?

      (@branches[first] ||= Branch.new).add(input, rest)
    end

    def empty?
      @leaves.empty? && @branches.empty?
    end

    def key?(key)
      @leaves.key?(key) || @branches.key?(key)
    end
  end
end
