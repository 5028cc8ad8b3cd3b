# A stand-in for chef-solo, for tests only, where there is no Chef: the interface of
# Chef's node attributes (15 to 19) as its documentation and its public source
# describe it, one run of local cookbooks, and four resources. The same tests run
# against the real Chef where it is on PATH.
require "json"
require File.join(__dir__, "attributes")

class Chef
  Config = Hash.new { |h, k| h[k] = [] }
  Config[:why_run] = false

  module EventDispatch
    # Every event is a method that does nothing until a subscriber defines it.
    class Base
      %i{node_load_completed attribute_load_start converge_start converge_complete resource_updated resource_up_to_date
         resource_skipped resource_completed}.each { |event| define_method(event) { |*| nil } }
    end
  end

  def self.tell(event, *args)
    Config[:event_handlers].each { |handler| handler.public_send(event, *args) }
  end

  # Context is a run's context: what was declared.
  class Context
    attr_reader :all_resources

    def initialize
      @all_resources = []
    end

    def resource_collection
      self
    end
  end

  # Resource is declared while recipes are compiled and acts when they converge.
  class Resource
    attr_reader :run_context

    def initialize(type, name, context, &block)
      @type, @name, @run_context = type, name, context
      instance_eval(&block) if block
    end

    def block(&code)
      @code = code
    end

    def action(*)
      [:run]
    end

    def to_s
      "#{@type}[#{@name}]"
    end

    def converge
      @code&.call
      Chef.tell(:resource_updated, self, :run)
    ensure
      Chef.tell(:resource_completed, self)
    end
  end

  # Recipe is what a recipe's text runs in.
  class Recipe
    attr_reader :node

    def initialize(node, context)
      @node, @context = node, context
    end

    %i{log ruby_block}.each do |type|
      define_method(type) { |name, &block| @context.all_resources << Resource.new(type, name, @context, &block) }
    end
  end
end

# The configuration is Ruby: what it calls that is not Ruby's own is a setting.
settings = BasicObject.new
class << settings
  def method_missing(name, *args)
    ::Chef::Config[name] = args.first
  end

  def require(path)
    ::Kernel.require(path)
  end
end
options = (ARGV - ["--no-color"]).each_slice(2).to_h
settings.instance_eval(File.read(options["-c"]), options["-c"])

node = Chef::Node.new
given = JSON.parse(File.read(options["-j"]))
run_list = given.delete("run_list")
node.attributes.normal = given
Chef.tell(:node_load_completed, node, run_list, Chef::Config)
cookbooks = run_list.map { |item| File.join(Chef::Config[:cookbook_path].first, item[/\Arecipe\[(.*)\]\z/, 1]) }
Chef.tell(:attribute_load_start, cookbooks.length)
cookbooks.each { |path| node.from_file(File.join(path, "attributes/default.rb")) }
context = Chef::Context.new
cookbooks.each do |path|
  file = File.join(path, "recipes/default.rb")
  Chef::Recipe.new(node, context).instance_eval(File.read(file), file)
end
Chef.tell(:converge_start, context)
context.all_resources.each(&:converge)
Chef.tell(:converge_complete)
