# Makes a run of `puppet apply` read its inputs from hotc's agent and publish its
# outputs there, with unmodified manifests and modules. Supports Puppet 7 and 8.
#
# Reads: Hiera's global layer (puppet/functions/hotc_lookup.rb), variables and facts
# (reads.rb). Each requests its value from the agent when evaluated, and waits.
# Writes: variables when assigned, resources when applied, facts at the run's end
# (writes.rb).
require "json"

module Hotc
  FOLDER = __dir__

  class << self
    attr_reader :run

    def install(plan)
      %w{agent inputs outputs reads writes log}.each { |part| require File.join(FOLDER, part) }
      @run = Run.new(plan)
      Reads.install
      Writes.install
      Log.install(plan["failure"])
    end
  end

  # Run is one run of Puppet: what the role declares.
  class Run
    attr_reader :classes, :inputs, :outputs

    def initialize(plan)
      agent = Agent.new(plan["socket"])
      @classes = plan["classes"]
      @inputs = plan["inputs"].to_h { |i| [i["name"], Input.new(agent, i["name"], i["optional"])] }
      @outputs = Outputs.new(agent, plan["outputs"])
    end

    # input is the input of a name; nil if it is not declared, or is an optional input that
    # did not arrive. It waits only for optional ones.
    def input(name)
      input = @inputs[name]
      input unless input.nil? || input.void?
    end

    # variables are the inputs that can be variables of the top scope, and facts.
    def variables
      @variables ||= @inputs.select { |name, _| name.match?(/\A[a-z_]\w*\z/) }
    end
  end
end

Hotc.install(JSON.parse(File.read(File.join(Hotc::FOLDER, "plan.json"))))
