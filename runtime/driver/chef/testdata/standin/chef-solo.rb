# A stand-in for chef-solo, for tests only, where there is no Chef: the interface of
# Chef's node attributes (15 to 19) as its documentation and its public source
# describe it, one run of local cookbooks and roles, and a few resources. The same
# tests run against the real Chef where it is on PATH.
Encoding.default_external = Encoding::UTF_8 # as Chef does
require "json"
$LOAD_PATH.unshift(__dir__)
require "open3"
require File.join(__dir__, "attributes")
require File.join(__dir__, "resources")

# A text that is run sees the names around the place that runs it.
TOPLEVEL = Object.new
def TOPLEVEL.run(*its)
  its.first.instance_eval(File.read(its.last), its.last)
end

class Chef
  Config = Hash.new { |h, k| h[k] = [] }
  Config[:why_run] = false

  module Exceptions
    class ShellCommandFailed < RuntimeError; end
    class CookbookNotFound < RuntimeError; end
    class RecipeNotFound < ArgumentError; end
    class RoleNotFound < RuntimeError; end

    # MultipleFailures keeps what failed besides the run.
    class MultipleFailures < StandardError
      def add(place, error)
        (@all_failures ||= []) << [place, error]
      end

      def message
        "Multiple failures occurred:\n" + @all_failures.map { |place, error| "* #{error.class} occurred in #{place}: #{error.message}\n" }.join
      end

      def raise!
        raise @all_failures.length == 1 ? @all_failures.first.last : self if @all_failures
      end
    end

    # TemplateError knows the line; Chef says nothing of the resource with it.
    class TemplateError < RuntimeError
      attr_reader :line_number

      def initialize(message, line)
        super(message)
        @line_number = line
      end
    end
  end

  module EventDispatch
    # Every event is a method that does nothing until a subscriber defines it.
    class Base
      %i{node_load_completed attribute_load_start converge_start converge_complete resource_updated resource_up_to_date
         resource_skipped resource_failed resource_completed run_failed}.each { |event| define_method(event) { |*| nil } }
    end
  end

  def self.tell(event, *args)
    Config[:event_handlers].each { |handler| handler.public_send(event, *args) }
  end

  # Context is a run's context: its node, its cookbooks, and what was declared.
  class Context
    attr_reader :node, :all_resources, :delayed

    def initialize(node)
      @node, @all_resources, @included, @delayed = node, [], [], []
    end

    def resource_collection
      self
    end

    # Chef takes the first cookbook of a name.
    def cookbook(name)
      Config[:cookbook_path].map { |folder| File.join(folder, name) }.find { |folder| File.directory?(folder) } ||
        raise(Exceptions::CookbookNotFound, "Cookbook #{name} not found.")
    end

    # attributes loads a cookbook's attribute files, after those that it depends on.
    def attributes(name)
      return if @included.include?(name)

      @included << name
      folder = cookbook(name)
      metadata = File.join(folder, "metadata.rb")
      File.read(metadata).scan(/^depends ["'](.*?)["']/) { |(on)| attributes(on) } if File.exist?(metadata)
      Dir[File.join(folder, "libraries/*.rb")].sort.each { |file| Kernel.require(file) }
      Dir[File.join(folder, "resources/*.rb")].sort.each { |file| Resources::Custom.load(file, name) }
      Dir[File.join(folder, "attributes/*.rb")].sort.each { |file| node.from_file(file) }
    end

    def include_recipe(item)
      name, recipe = item.split("::")
      recipe ||= "default"
      return if @included.include?([name, recipe])

      @included << [name, recipe]
      file = File.join(cookbook(name), "recipes", "#{recipe}.rb")
      raise Exceptions::RecipeNotFound, "could not find recipe #{recipe} for cookbook #{name}" unless File.exist?(file)

      Recipe.new(self, cookbook(name), "#{name}::#{recipe}").from_file(file)
    end
  end

  # Recipe is what a recipe's text runs in.
  class Recipe
    include Chef::Mixin::FromFile

    attr_accessor :new_resource

    def initialize(context, cookbook, name)
      @context, @cookbook, @name = context, cookbook, name
    end

    def node
      @context.node
    end

    def lazy(&block)
      DelayedEvaluator.new(&block)
    end

    # search finds the nodes that the run knows: itself.
    def search(_index, query)
      query == "*:*" || query == "name:#{node.name}" ? [node] : []
    end

    def tag(*names)
      node.tag(*names)
    end

    def tagged?(*names)
      (names - node.tags).empty?
    end

    def include_recipe(*items)
      items.each { |item| @context.include_recipe(item) }
    end

    def self.type(type, of)
      define_method(type) do |name, &block|
        place = "#{@name} line #{caller_locations(1, 1).first.lineno}"
        of.new(type, name, @context, @cookbook, place, &block).tap { |resource| @context.all_resources << resource }
      end
    end
    Resources::ALL.each { |name, of| type(name, of) }
  end

  # Role is what a role's file in Ruby runs in.
  class Role
    attr_reader :said

    def initialize
      @said = {}
    end

    %i{name description}.each { |key| define_method(key) { |value| @said[key.to_s] = value } }
    %i{default_attributes override_attributes}.each { |key| define_method(key) { |value| @said[key.to_s] = value } }

    def run_list(*items)
      @said["run_list"] = items.flatten
    end

    def self.load(name)
      Array(Config[:role_path]).each do |folder|
        json, ruby = %w{json rb}.map { |ending| File.join(folder, "#{name}.#{ending}") }
        return JSON.parse(File.read(json)) if File.exist?(json)
        return new.tap { |role| TOPLEVEL.run(role, ruby) }.said if File.exist?(ruby)
      end
      raise Exceptions::RoleNotFound, "The role #{name} was not found."
    end
  end
end

# expand is the recipes of a run list; the attributes of its roles go to the node.
def expand(items, node)
  items.flat_map do |item|
    kind, name = item.match(/\A(?:(recipe|role)\[(.*)\]|(.*))\z/).captures.compact.then { |found| found.length == 1 ? ["recipe", found.first] : found }
    next [name] if kind == "recipe"

    role = Chef::Role.load(name)
    node.attributes.role_default.merge!(role["default_attributes"] || {})
    node.attributes.role_override.merge!(role["override_attributes"] || {})
    expand(role["run_list"] || [], node)
  end
end

def converge(options)
  node = Chef::Node.new(Chef::Config[:node_name])
  given = JSON.parse(File.read(options["-j"]))
  run_list = given.delete("run_list")
  node.attributes.normal = given
  Chef.tell(:node_load_completed, node, run_list, Chef::Config)
  recipes = expand(run_list, node)
  context = Chef::Context.new(node)
  Chef.tell(:attribute_load_start, recipes.length)
  recipes.each { |recipe| context.attributes(recipe.split("::").first) }
  recipes.each { |recipe| context.include_recipe(recipe) }
  Chef.tell(:converge_start, context)
  run(context)
  Chef.tell(:converge_complete)
end

# run converges all resources, and then those that were notified, whatever failed.
def run(context)
  failures = Chef::Exceptions::MultipleFailures.new
  begin
    context.all_resources.each(&:converge)
  rescue StandardError => e
    failures.add("Chef run", e)
  end
  context.delayed.uniq.each do |step, name|
    context.all_resources.find { |resource| resource.to_s == name }.converge([step])
  rescue StandardError => e
    failures.add("delayed notification", e)
  end
  failures.raise!
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

if ARGV == ["--version"]
  puts "Chef's stand-in: 18.0.0"
  exit
end
options = (ARGV - %w{--no-color --local-mode}).each_slice(2).to_h
TOPLEVEL.run(settings, options["-c"])
Dir.chdir("/") # as Chef does (lib/chef/daemon.rb)
begin
  converge(options)
rescue StandardError, ScriptError => e
  Chef.tell(:run_failed, e, nil)
  File.write(File.join(Chef::Config[:file_cache_path], "chef-stacktrace.out"), e.full_message)
  puts "FATAL: #{e.class}: #{e.message}"
  exit 1
end
