module Hotc
  # Input is a declared input. Its value is frozen, as facts are.
  class Input < Awaited
    # data is the value as Hiera data: a merge may change it.
    def data
      copy(value)
    end

    # variable is the value as a variable, which is the same object for all that read it.
    def variable
      frozen = value
      @lock.synchronize { @variable = copy(frozen) unless defined?(@variable) }
      @variable
    end

    private

    def copy(value)
      case value
      when Hash then value.to_h { |key, inner| [copy(key), copy(inner)] }
      when Array then value.map { |inner| copy(inner) }
      when String then value.dup
      else value
      end
    end

    def ask
      frozen(super)
    end

    def frozen(value)
      case value
      when Hash then value.each_value { |inner| frozen(inner) }
      when Array then value.each { |inner| frozen(inner) }
      end
      value.freeze
    end
  end

  # Facts extends the hash $facts with inputs. A reader with a key waits for that one, a
  # reader of the whole for all; keys and their presence are known without waiting unless
  # the input is optional. (It extends one object: Puppet's types do not accept instances of
  # subclasses.)
  module Facts
    KEYED = %i{[] fetch dig values_at fetch_values slice assoc}.freeze
    PRESENCE = %i{key? has_key? include? member?}.freeze
    WHOLE = %i{any? all? compact count delete_if each each_pair each_value each_with_index each_with_object except
      filter filter_map find find_all flat_map group_by hash has_value? inject inspect invert key map max_by merge min_by none?
      partition rassoc reduce reject select sort sort_by sum to_a to_h to_hash to_json to_proc to_s to_yaml
      transform_keys transform_values value? values}.freeze

    def self.over(facts, inputs)
      facts.dup.extend(Facts).__send__(:take, facts, inputs)
    end

    def freeze
      self
    end

    KEYED.each do |name|
      define_method(name) do |*keys, &block|
        (name == :dig ? keys.first(1) : keys).each { |key| settle(key) }
        super(*keys, &block)
      end
    end

    PRESENCE.each do |name|
      define_method(name) do |key|
        settle(key) if @pending[key]&.optional?
        super(key)
      end
    end

    (WHOLE & Hash.public_instance_methods).each do |name|
      define_method(name) do |*args, **named, &block|
        settle_all
        super(*args, **named, &block)
      end
    end

    # Puppet compares every variable with :undef
    def ==(other)
      settle_all if other.is_a?(Hash)
      super
    end

    private

    def take(facts, inputs)
      @own = facts
      @pending = inputs.dup
      inputs.each_key { |name| store(name, nil) unless facts.key?(name) }
      self
    end

    def settle_all
      @pending.keys.each { |name| settle(name) }
    end

    # settle sets the value of an input. It waits.
    def settle(name)
      input = @pending[name] or return
      value = input.value
      @pending.delete(name)
      if !input.void?
        store(name, value)
      elsif !@own.key?(name)
        delete(name)
      end
    end
  end
end
