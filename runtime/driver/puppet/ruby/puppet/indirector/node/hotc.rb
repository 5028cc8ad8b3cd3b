require "puppet/indirector/node/plain"
require File.expand_path("../../../hotc/run", __dir__)

# The node of a run started by hotc's agent: Puppet's own plain one. Puppet loads it
# first, and fails without it, so that no run can miss its inputs.
class Puppet::Node::Hotc < Puppet::Node::Plain
  desc "The node of a run that hotc's agent has started."

  def find(request)
    node = super
    node.classes = Hotc.run.classes
    node
  end
end
