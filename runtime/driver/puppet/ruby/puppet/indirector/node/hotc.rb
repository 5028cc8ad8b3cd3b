require "puppet/indirector/node/plain"
require File.expand_path("../../../hotc/run", __dir__)

# The node of a run that hotc's agent has started: Puppet's own plain one. Puppet looks
# for it before it does anything else, and ends where it is not found, so that no run
# can miss its inputs.
class Puppet::Node::Hotc < Puppet::Node::Plain
  desc "The node of a run that hotc's agent has started."

  def find(request)
    node = super
    node.classes = Hotc.run.classes
    node
  end
end
