require "json"

module Hotc
  # Output is a declared output that is an attribute.
  class Output
    attr_reader :name, :path
    attr_accessor :seen, :published

    def initialize(name, path)
      @name, @path = name, path
    end
  end

  # Outputs publishes the merged values of the declared outputs.
  #
  # A number, a string or a boolean is published as soon as it is written in a recipe or
  # while resources converge. What can still grow or be overridden waits for the end of
  # the step that wrote it: attribute files for the end of compilation; lists and maps
  # for the end of compilation or of the resource. null, an empty list or map and a lazy
  # value wait for the end of the run, when everything in the node is published, including
  # what an earlier run has saved and this one did not write.
  class Outputs
    def initialize(run, list)
      @run, @list = run, list
      @armed = false
      @provisional = 0
    end

    def armed?
      @armed
    end

    # arm begins to inspect writes: earlier values are not of this run.
    def arm
      @list.each { |output| output.seen = json_of(output) }
      @armed = !@list.empty?
    end

    def provisionally
      @provisional += 1
      yield
    ensure
      @provisional -= 1
    end

    # changed inspects a write at path, or below; nil is unknown. An output that contains the
    # path need not be inspected yet: it is a list or a map.
    def changed(path, below)
      @touched = true
      return if @provisional > 0
      return @list.each { |output| look(output, false) } if path.nil?

      path = path.map { |key| Reads.plain(key) }
      @list.each do |output|
        next if output.path.length < path.length || (below && output.path.length == path.length)

        look(output, output.path == path) if output.path.first(path.length) == path
      end
    end

    # step_ended publishes the changes that were held back.
    def step_ended
      return unless @touched

      @touched = false
      @list.each do |output|
        json = json_of(output)
        publish(output, json) if json && json != output.seen && !%w{null [] {}}.include?(json)
      end
    end

    # run_ended publishes everything in the node.
    def run_ended
      return unless @armed

      @list.each do |output|
        json = json_of(output, true)
        publish(output, json) if json
      end
    end

    private

    # look publishes what need not wait. named is set if the writer named the output's own
    # path: then even a value that an earlier run has saved counts. Reading makes Chef merge
    # all below a top-level key, so only new values are read.
    def look(output, named)
      value = Reads::MERGED.bind(@run.attributes).call(*output.path)
      return if value.nil? || value.is_a?(Hash) || value.is_a?(Array) || value.is_a?(Proc)

      json = generate(output, plain(output, value, false))
      return if json == output.published || (json == output.seen && !named)

      json = json_of(output)
      publish(output, json) unless json.nil? || json == "null" || json.start_with?("[", "{")
    end

    def publish(output, json)
      output.seen = json
      return if output.published == json

      @run.agent.put(output.name, json)
      output.published = json
    end

    # json_of is the output's merged value; nil if there is none, or it is computed when
    # read. It never waits for an input.
    def json_of(output, forced = false)
      top, *rest = output.path
      return unless @run.attributes.key?(top)

      value = @run.attributes[top]
      rest.each do |key|
        value = value.call while forced && value.is_a?(Proc)
        return unless value.is_a?(Hash) && Reads::RAW_KEY.bind(value).call(key)

        value = Reads::RAW_GET.bind(value).call(key)
      end
      plain = plain(output, value, forced)
      plain.equal?(LAZY) ? nil : generate(output, plain)
    end

    def generate(output, plain)
      JSON.generate(plain, max_nesting: Agent::DEPTH)
    rescue JSON::GeneratorError, EncodingError => e
      raise Failure, "hotc: output #{output.name} cannot be published: #{e.message}"
    end

    LAZY = Object.new

    # plain converts a value to JSON types. (A lazy value is a Proc, which Chef 16 copies as
    # a plain one.)
    def plain(output, value, forced)
      while value.is_a?(Proc)
        return LAZY unless forced

        value = value.call
      end
      case value
      when Hash
        pairs = value.map { |key, inner| [key.to_s, plain(output, inner, forced)] }
        pairs.any? { |_, inner| inner.equal?(LAZY) } ? LAZY : pairs.to_h
      when Array
        list = value.map { |inner| plain(output, inner, forced) }
        list.any? { |inner| inner.equal?(LAZY) } ? LAZY : list
      when nil, true, false, Integer, Float
        value
      else
        Hotc.utf8(output.name, value.to_s, "base64")
      end
    end
  end
end
