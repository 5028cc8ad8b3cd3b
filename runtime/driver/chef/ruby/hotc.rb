# Makes a Chef run read its inputs from hotc's agent and publish its outputs there, with
# unmodified cookbooks. Required by the configuration that the agent writes; supports Chef
# and Cinc from version 15 on, with Ruby 2.6 or later.
#
# Reads: the merged view of the run's own node (Chef::Node::Attribute and the
# ImmutableMash below it) gets a leaf for every declared input. A leaf requests its value
# from the agent when it is needed, and waits; see reads.rb.
# Writes: after every method that changes attributes, the merged values of the declared
# outputs are inspected; see writes.rb and outputs.rb.
require "json"

module Hotc
  FOLDER = File.expand_path(__dir__)

  class << self
    attr_reader :run

    # begins to intercept. plan, from the agent, has its socket, and the inputs and outputs
    # with their paths.
    def install(plan)
      return if @run

      %w{agent inputs outputs reads copies writes report run}.each { |part| require File.join(FOLDER, part) }
      @run = Run.new(plan)
      Reads.install
      unless @run.inputs.empty?
        Copies.install
        Splats.install
      end
      Writes.install
      Chef::Config[:event_handlers] << @run.events
    end
  end
end

Hotc.install(JSON.parse(File.read(File.join(Hotc::FOLDER, "plan.json"))))
