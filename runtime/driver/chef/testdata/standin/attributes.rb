require "json"

# Mash is a hash for which symbols and texts are the same key.
class Mash < Hash
  alias_method :regular_writer, :[]=
  alias_method :regular_delete, :delete
  alias_method :regular_clear, :clear

  def initialize(data = {})
    super()
    update(data)
  end

  def [](key)
    super(convert_key(key))
  end

  def []=(key, value)
    regular_writer(convert_key(key), convert_value(value))
  end
  alias_method :store, :[]=

  def update(other)
    other.each_pair { |key, value| regular_writer(convert_key(key), convert_value(value)) }
    self
  end
  alias_method :merge!, :update

  def replace(other)
    regular_clear
    update(other)
  end

  def key?(key)
    super(convert_key(key))
  end
  %i{include? has_key? member? attribute?}.each { |name| alias_method name, :key? }

  def fetch(key, *default)
    super(convert_key(key), *default)
  end

  def values_at(*keys)
    keys.map { |key| self[key] }
  end

  def merge(other)
    dup.update(other)
  end

  def delete(key)
    super(convert_key(key))
  end

  protected

  def convert_key(key)
    key.is_a?(Symbol) ? key.to_s : key
  end

  def convert_value(value)
    value.is_a?(Hash) && !value.is_a?(Mash) ? Mash.new(value) : value
  end
end

class Chef
  class DelayedEvaluator < Proc; end

  module Mixin
    # FromFile runs a text in an object; what it sees around it is here.
    module FromFile
      def from_file(filename)
        instance_eval(IO.read(filename), filename, 1)
      end

      def class_from_file(filename)
        class_eval(IO.read(filename), filename, 1)
      end
    end

    # DeepMerge merges maps within maps; of two lists the first is put before the second,
    # or with hash_only_merge the second counts.
    module DeepMerge
      class << self
        def merge(first, second)
          deep_merge(Mash.new(second), Mash.new(first))
        end

        def deep_merge(source, dest)
          merge_with(source, dest) { |upper, lower| lower.is_a?(Array) && upper.is_a?(Array) ? lower | upper : upper }
        end

        def hash_only_merge(onto, with)
          merge_with(with, onto) { |upper, lower| upper.nil? ? lower : upper }
        end

        private

        def merge_with(upper, lower, &decide)
          return decide.call(upper, lower) unless upper.is_a?(Hash) && lower.is_a?(Hash)

          merged = lower.dup
          upper.each { |key, value| merged[key] = merged.key?(key) ? merge_with(value, merged[key], &decide) : value }
          merged
        end
      end
    end
  end

  module Exceptions
    class ImmutableAttributeModification < NoMethodError; end
    class NoSuchAttribute < StandardError; end
    class ValidationFailed < ArgumentError; end
  end

  module JSONCompat
    def self.to_json(value)
      value.to_json
    end
  end

  class Node
    # Placed is what knows where it hangs: it learned that when it was reached.
    module Placed
      attr_accessor :__path__, :__root__, :__precedence__

      def __place__(path, root, precedence)
        @__path__, @__root__, @__precedence__ = path, root, precedence
        self
      end

      def [](*args)
        found = super
        found.is_a?(Placed) ? found.__place__((__path__ || []) + [convert_key(args.first)], __root__, __precedence__) : found
      end

      private

      def forget
        __root__.reset_cache if __root__.respond_to?(:reset_cache)
      end
    end

    # Paths are the methods with a path.
    module Paths
      def exist?(*path)
        path.inject(self) do |at, key|
          return false unless (at.is_a?(Hash) && at.key?(key)) || (at.is_a?(Array) && key.is_a?(Integer) && key < at.length)

          at[key]
        end
        true
      end

      def read!(*path)
        raise Exceptions::NoSuchAttribute, path.join(".") unless exist?(*path)

        path.inject(self) { |at, key| at[key] }
      end

      def read(*path)
        read!(*path)
      rescue Exceptions::NoSuchAttribute
        nil
      end
      alias_method :dig, :read

      def write(*path, last, value)
        path.inject(self) do |at, key|
          at[key] = {} unless at[key].is_a?(Hash)
          at[key]
        end[last] = value
      end
      alias_method :write!, :write

      def unlink(*path, last)
        at = path.empty? ? self : read(*path)
        at.delete(last) if at.is_a?(Hash)
      end
      alias_method :unlink!, :unlink
    end

    module Mixin
      module ImmutablizeHash
        DISALLOWED_MUTATOR_METHODS = %i{[]= clear collect! compact! default= delete delete_if keep_if map! merge! reject! replace
          select! shift store unlink unlink! update write write!}.freeze
      end
    end

    # ImmutableMash is a part of the merged view.
    class ImmutableMash < Mash
      include Paths

      def initialize(data = {}, root = nil)
        super()
        __place__([], root, :merged)
        data.each { |key, value| regular_writer(key, convert_value(value)) }
      end

      def convert_value(value)
        case value
        when ImmutableMash then value
        when Hash then ImmutableMash.new(value, __root__)
        when Array then value.map { |inner| convert_value(inner) }.freeze
        else value.frozen? || value.is_a?(Proc) ? value : value.dup.freeze
        end
      end
      public :convert_value

      def [](*args)
        value = super
        value = value.call while value.is_a?(DelayedEvaluator)
        value
      end

      def dup
        Mash.new(each_pair.to_h { |key, value| [key, value.is_a?(ImmutableMash) ? value.dup : value] })
      end

      def to_h
        each_pair.to_h { |key, value| [key, value.is_a?(ImmutableMash) ? value.to_h : value] }
      end
      alias_method :to_hash, :to_h

      def to_yaml(*options)
        to_h.to_yaml(*options)
      end

      Mixin::ImmutablizeHash::DISALLOWED_MUTATOR_METHODS.each do |name|
        define_method(name) { |*| raise Exceptions::ImmutableAttributeModification, "node attributes are read-only" } unless name == :update
      end

      prepend Placed
    end

    # AttrArray is a list at one level.
    class AttrArray < Array
      MUTATOR_METHODS = %i{<< []= append clear collect! compact! concat delete delete_at delete_if fill flatten! insert keep_if map! pop
        push reject! replace reverse! rotate! select! shift shuffle! slice! sort! sort_by! uniq! unshift}.freeze

      MUTATOR_METHODS.each do |name|
        define_method(name) do |*args, &block|
          changed = super(*args, &block)
          forget
          changed
        end
      end

      def convert_key(key)
        key
      end
      prepend Placed
    end

    # VividMash is a level, or a part of it; a key that is not there comes to be when it
    # is asked for.
    class VividMash < Mash
      include Paths

      MUTATOR_METHODS = Mixin::ImmutablizeHash::DISALLOWED_MUTATOR_METHODS - %i{write write! unlink unlink!}

      def initialize(data = {}, root = nil, precedence = nil)
        super(data)
        __place__([], root, precedence)
      end

      def [](key)
        self[key] = VividMash.new({}, __root__, __precedence__) unless key?(key)
        super
      end

      MUTATOR_METHODS.each do |name|
        next unless method_defined?(name)

        define_method(name) do |*args, &block|
          forget
          changed = super(*args, &block)
          forget
          changed
        end
      end

      def convert_value(value)
        case value
        when VividMash, AttrArray then value
        when Hash then VividMash.new(value, __root__, __precedence__)
        when Array then AttrArray.new(value).__place__([], __root__, __precedence__)
        else value
        end
      end

      prepend Placed
    end

    # Unchain turns node.default!["a"]["b"] = 1 into default!("a", "b", 1).
    class Unchain
      def initialize(attributes, name, path = [])
        @attributes, @name, @path = attributes, name, path
      end

      def [](key)
        Unchain.new(@attributes, @name, @path + [key])
      end

      def []=(key, value)
        @attributes.public_send(@name, *@path, key, value)
      end
    end

    # Attribute is the levels and what they come to.
    class Attribute < Mash
      LEVELS = %i{default env_default role_default force_default normal override role_override env_override force_override automatic}.freeze

      attr_accessor :deep_merge_cache

      def initialize
        super()
        @deep_merge_cache = ImmutableMash.new
        @levels = LEVELS.to_h { |level| [level, VividMash.new({}, self, level)] }
      end

      LEVELS.each do |level|
        define_method(level) { @levels[level] }
        define_method(:"#{level}=") do |data|
          reset_cache
          @levels[level] = VividMash.new(data, self, level)
        end
      end

      def reset_cache(*)
        @deep_merge_cache.regular_clear
      end

      def [](key)
        cache = deep_merge_cache
        cache.regular_writer(key.to_s, merged_attributes(key)) unless cache.key?(key)
        cache[key]
      end

      def merged_attributes(*path)
        found = LEVELS.map { |level| @levels[level] }.select { |level| level.exist?(*path) }.map { |level| level.read!(*path) }
        merged = found.reduce { |low, high| deeper(low, high) }
        merged.is_a?(Hash) || merged.is_a?(Array) ? ImmutableMash.new({}, self).convert_value(plain(merged)) : merged
      end

      def read(*path)
        self[path.first]
        deep_merge_cache.read(*path)
      end
      alias_method :dig, :read

      def read!(*path)
        self[path.first]
        deep_merge_cache.read!(*path)
      end

      def exist?(*path)
        self[path.first]
        deep_merge_cache.exist?(*path)
      end

      def has_key?(key)
        @levels.each_value.any? { |level| level.key?(key) }
      end
      %i{attribute? member? include? key?}.each { |name| alias_method name, :has_key? }

      %i{each keys to_hash to_h map select values}.each do |name|
        define_method(name) { |*args, &block| merged_attributes.public_send(name, *args, &block) }
      end

      { default!: :default, normal!: :normal, override!: :override }.each do |name, level|
        define_method(name) { |*args| args.empty? ? Unchain.new(self, name) : write(level, *args) }
      end

      %i{default normal override}.each do |level|
        name = :"#{level}_unless"
        define_method(name) do |*args|
          next Unchain.new(self, name) if args.empty?

          write(level, *args) if send(level).read(*args[0...-1]).nil?
        end
      end

      %i{default override}.each do |level|
        name = :"force_#{level}!"
        define_method(name) do |*args|
          next Unchain.new(self, name) if args.empty?

          public_send(:"rm_#{level}", *args[0...-1])
          write(:"force_#{level}", *args)
        end
      end

      def write(level, *args)
        send(level).write(*args)
      end
      alias_method :write!, :write

      def unlink(level, *path)
        send(level).unlink(*path)
      end
      alias_method :unlink!, :unlink

      def rm(*path)
        rm_default(*path)
        rm_normal(*path)
        rm_override(*path)
      end

      def rm_default(*path)
        [default, env_default, role_default, force_default].each { |level| level.unlink(*path) }
      end

      def rm_normal(*path)
        normal.unlink(*path)
      end

      def rm_override(*path)
        [override, env_override, role_override, force_override].each { |level| level.unlink(*path) }
      end

      private

      def deeper(low, high)
        return high unless low.is_a?(Hash) && high.is_a?(Hash)

        plain(low).merge(plain(high)) { |_, below, above| deeper(below, above) }
      end

      def plain(value)
        value.is_a?(Hash) ? value.each_pair.to_h : value
      end
    end

    include Chef::Mixin::FromFile

    attr_reader :attributes, :name

    def initialize(name = nil)
      @attributes, @name = Attribute.new, name
    end

    def [](key)
      attributes[key]
    end

    def node
      self
    end

    # save keeps the levels, not what they come to.
    def save
      JSON.generate(%i{default normal override automatic}.to_h { |level| [level, attributes.public_send(level)] })
      self
    end

    def tags
      attributes.normal[:tags] = Array(attributes.normal[:tags])
      attributes.normal[:tags]
    end

    def tag(*names)
      names.each { |name| tags.push(name) unless tags.include?(name) }
      tags
    end

    def consume_attributes(given)
      attributes.normal = Chef::Mixin::DeepMerge.merge(attributes.normal, given)
    end

    def exist?(*path)
      attributes.exist?(*path)
    end

    def method_missing(name, *args, &block)
      attributes.respond_to?(name) ? attributes.public_send(name, *args, &block) : super
    end

    def respond_to_missing?(name, all = false)
      attributes.respond_to?(name, all)
    end
  end
end
