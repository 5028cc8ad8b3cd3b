require "monitor"

module Hotc
  # Run is one Chef run: its node, its inputs and outputs, and its phase.
  class Run
    attr_reader :agent, :inputs, :outputs, :resources, :report, :events, :node

    def initialize(plan)
      @agent = Agent.new(plan["socket"])
      @inputs = Branch.new
      plan["inputs"].each { |i| @inputs.add(Input.new(@agent, i["name"], i["path"], i["optional"])) }
      attributes, resources = plan["outputs"].partition { |o| o["path"] }
      @outputs = Outputs.new(self, attributes.map { |o| Output.new(o["name"], o["path"]) })
      @resources = Resources.new(@agent, resources)
      @events = Events.new(self)
      @report = Report.new(plan["failure"])
    end

    # node= begins to intercept reads: the node is loaded, cookbooks are not.
    def node=(node)
      @node = node
      attributes.__hotc_inputs__ = @inputs unless @inputs.empty?
      attributes.reset_cache
    end

    def attributes
      @node && @node.attributes
    end

    attr_writer :converging

    def converging?
      @converging
    end
  end

  # Resources publishes an output when the resource that it names has converged: when the
  # last of its own actions has succeeded, had nothing to do or was skipped (not_if). One
  # that only waits for notifications converges when notified.
  class Resources
    def initialize(agent, outputs)
      @agent = agent
      @outputs = outputs.group_by { |o| o["resource"] }
      @done = {}
    end

    # succeeded records an action's success.
    def succeeded(resource, action)
      return if action.to_sym == :nothing || Chef::Config[:why_run] || !names(resource).any? { |name| @outputs.key?(name) }

      (@done[resource.object_id] ||= []) << action.to_sym
    end

    # completed publishes what has converged. Of several resources of one name the last
    # counts, as for notifications.
    def completed(resource)
      done = @done[resource.object_id] or return
      return unless (own_actions(resource) - done).empty? && last?(resource)

      names(resource).each { |name| (@outputs.delete(name) || []).each { |o| @agent.put(o["name"], "true") } }
    end

    private

    # names are those by which notifications find a resource: package[x], too, for an
    # apt_package.
    def names(resource)
      [resource.to_s, "#{resource.declared_type}[#{resource.name}]"].uniq
    end

    def own_actions(resource)
      Array(resource.action).map(&:to_sym) - [:nothing]
    end

    def last?(resource)
      context = resource.run_context or return true
      last = context.resource_collection.all_resources.select { |other| !(names(other) & names(resource)).empty? }.last
      last.nil? || last.equal?(resource)
    end
  end

  # Events receives the events of a run.
  class Events < Chef::EventDispatch::Base
    def initialize(run)
      super()
      @run = run
    end

    def node_load_completed(node, _run_list, _config)
      @run.node = node
    end

    def attribute_load_start(_files)
      @run.outputs.arm
    end

    def converge_start(_context)
      @run.outputs.step_ended
      @run.converging = true
    end

    def resource_updated(resource, action, *)
      @run.resources.succeeded(resource, action)
    end
    alias resource_up_to_date resource_updated
    alias resource_skipped resource_updated

    def resource_completed(resource)
      @run.outputs.step_ended if @run.converging?
      @run.resources.completed(resource)
    end

    def converge_complete
      @run.outputs.run_ended
    end

    def resource_failed(resource, _action, exception)
      @run.report.failing(resource, exception)
    end

    def run_failed(exception, *)
      @run.report.write(exception)
    end
  end
end
