require "json"

module Hotc
  # Outputs publishes variables, resources and facts.
  class Outputs
    attr_reader :resources

    def initialize(agent, list)
      @agent = agent
      @variables = list.select { |o| o["variable"] }.to_h { |o| [o["variable"], o["name"]] }
      @facts = list.select { |o| o["fact"] }.to_h { |o| [o["fact"], o["name"]] }
      @resources = list.select { |o| o["resource"] }
      @paused = false
    end

    # paused runs a block that sets variables other than a manifest's.
    def paused
      @paused = true
      yield
    ensure
      @paused = false
    end

    def paused?
      @paused
    end

    # assigned publishes a variable.
    def assigned(variable, value)
      name = @variables[variable]
      @agent.put(name, json_of(name, value)) if name && !@paused
    end

    # applied publishes a resource's completion.
    def applied(name)
      @agent.put(name, "true")
    end

    # ended publishes the machine's facts after the run.
    def ended
      return if @facts.empty?

      facter = Puppet.runtime[:facter]
      facter.clear
      facter.reset if facter.respond_to?(:reset)
      now = Puppet::Node::Facts.indirection.find(Puppet[:certname], environment: Puppet.lookup(:current_environment)).values
      @facts.each do |path, name|
        found, value = fact(now, path.split("."))
        @agent.put(name, json_of(name, value)) if found
      end
    end

    private

    def fact(value, path)
      path.each do |key|
        return false unless value.is_a?(Hash) ? value.key?(key) : value.is_a?(Array) && key.match?(/\A\d+\z/)

        value = value[value.is_a?(Array) ? key.to_i : key]
      end
      [true, value]
    end

    def json_of(name, value)
      JSON.generate(plain(name, value), max_nesting: Agent::DEPTH)
    rescue JSON::GeneratorError, EncodingError => e
      raise Failure, "hotc: output #{name} cannot be published: #{e.message}"
    end

    # plain converts a Puppet value to JSON types. The agent hides Sensitive ones.
    def plain(name, value)
      case value
      when nil, :undef, true, false, Integer, Float
        value == :undef ? nil : value
      when Puppet::Pops::Types::PSensitiveType::Sensitive
        plain(name, value.unwrap)
      when Hash
        value.to_h { |key, inner| [text(name, key.to_s), plain(name, inner)] }
      when Array
        value.map { |inner| plain(name, inner) }
      when Puppet::Pops::Types::PBinaryType::Binary
        value.to_s
      else
        deferred!(name) if defined?(Puppet::Pops::Types::PuppetObject) && value.class.name.to_s.end_with?("Deferred")
        text(name, value.to_s)
      end
    end

    def deferred!(name)
      raise Failure, "hotc: output #{name} is Deferred: it has no value while the catalog is compiled"
    end

    def text(name, value)
      Hotc.utf8(name, value, "base64encode")
    end
  end
end
