module Hotc
  # Input is a declared input: a leaf of the node's attributes whose value comes from
  # the agent.
  class Input < Awaited
    attr_reader :path

    def initialize(agent, name, path, optional)
      super(agent, name, optional)
      @path = path
    end

    # merged is the immutable value for the merged view. It waits.
    def merged
      @merged = Chef::Node::ImmutableMash.new.send(:convert_value, value) unless defined?(@merged)
      @merged
    end

    # settled is the value, or the fallback. It waits.
    def settled(without)
      void? ? without : merged
    end

    private

    # ask ends the run if the value does not arrive: a recipe that rescues would continue
    # without it, and Chef itself would still run delayed notifications.
    def ask
      super
    rescue Failure => e
      Hotc.run.report.write(e)
      [$stdout, $stderr].each(&:flush)
      Process.exit!(1)
    end
  end

  # Pending stands for an unread value in a mash, and becomes it at the first call of any of
  # its methods. It is visible to C code that reads one leaf of a mash without calling the
  # mash's methods; copies.rb handles those that read all.
  class Pending < BasicObject
    undef_method :instance_eval, :instance_exec

    # without is the fallback if the value does not arrive.
    def initialize(input, without)
      @hotc_input, @hotc_without = input, without
    end

    def !
      !@hotc_input.settled(@hotc_without)
    end

    def ==(other)
      @hotc_input.settled(@hotc_without) == other
    end

    def !=(other)
      @hotc_input.settled(@hotc_without) != other
    end

    # called by C code before anything else
    def respond_to?(name, all = false)
      @hotc_input.settled(@hotc_without).respond_to?(name, all)
    end

    def equal?(other)
      @hotc_input.settled(@hotc_without).equal?(other)
    end

    def method_missing(name, *args, &block) # rubocop:disable Style/MissingRespondToMissing
      @hotc_input.settled(@hotc_without).__send__(name, *args, &block)
    end
  end

  # Branch is a node in the tree of declared inputs.
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
