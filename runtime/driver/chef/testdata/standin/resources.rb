require "erubis"
require "fileutils"

class Chef
  # Resource is declared while recipes are compiled, its properties with it, and acts
  # when it converges; a lazy property is computed then.
  class Resource
    attr_reader :name, :run_context, :cookbook

    # property is one of some types, if any are given.
    def self.property(*names, is: nil)
      names, types = names.partition { |name| name.is_a?(Symbol) }
      is ||= types unless types.empty?
      names.each do |name|
        define_method(name) do |*value, &block|
          if block || !value.empty?
            value = block || value.first
            fits = is.nil? || value.is_a?(DelayedEvaluator) || is.any? { |type| type === value } # rubocop:disable Style/CaseEquality
            raise Exceptions::ValidationFailed, "Option #{name} must be a kind of #{is}!  You passed #{value.inspect}." unless fits

            return @properties[name] = value
          end

          found = @properties[name]
          found.is_a?(DelayedEvaluator) ? found.call : found
        end
      end
    end

    property :mode, :not_if, :only_if, :ignore_failure
    property :sensitive, is: [true, false]
    property :retries, is: [Integer]

    def initialize(type, name, context, cookbook, place, &block)
      @type, @name, @run_context, @cookbook, @place, @properties = type, name, context, cookbook, place, {}
      instance_eval(&block) if block
    end

    def node
      run_context.node
    end

    def lazy(&block)
      DelayedEvaluator.new(&block)
    end

    def action(*given)
      @action = given.flatten unless given.empty?
      @action || [default_action]
    end

    def default_action
      :create
    end

    def declared_type
      @type
    end

    def defined_at
      @place
    end

    def to_s
      "#{@type}[#{@name}]"
    end

    def notifies(step, other, _timing = :delayed)
      (@notifies ||= []) << [step, other]
    end

    def converge(steps = action - [:nothing])
      steps.each do |step|
        told = act(step)
        run_context.delayed.concat(@notifies || []) if told.first == :resource_updated
        Chef.tell(*told)
      end
      Chef.tell(:resource_completed, self)
    rescue StandardError => e
      return if ignore_failure

      Chef.tell(:resource_failed, self, nil, e)
      raise e if e.is_a?(Exceptions::TemplateError)

      raise e.exception("#{self} (#{@place}) had an error: #{e.class}: #{e.message}"), cause: e
    end

    private

    # act is the event that tells what an action came to.
    def act(step)
      return [:resource_skipped, self, step, nil] if (not_if && not_if.call) || (only_if && !only_if.call)

      [perform(step) == false ? :resource_up_to_date : :resource_updated, self, step]
    end

    def perform(_step); end
  end

  # The resources of the stand-in.
  module Resources
    class Log < Resource
      property :message

      def default_action
        :write
      end

      def perform(_step)
        puts message || name
      end
    end

    class RubyBlock < Resource
      property :block

      def default_action
        :run
      end

      def perform(_step)
        @properties[:block].call
      end
    end

    class Directory < Resource
      property :recursive

      def perform(_step)
        return false if ::File.directory?(name)

        recursive ? FileUtils.mkdir_p(name) : Dir.mkdir(name)
      end
    end

    class File < Resource
      property :content, is: [String, nil]

      def perform(_step)
        text = body
        return false if ::File.exist?(name) && ::File.read(name) == text

        ::File.write(name, text)
        ::File.chmod(Integer(mode, 8), name) if mode
      end

      def body
        content.to_s
      end
    end

    class Template < File
      property :source, :variables

      # Page is what a template's text runs in.
      class Page
        def initialize(node, variables)
          @node = node
          variables.each { |name, value| instance_variable_set(:"@#{name}", value) }
        end

        def node
          @node
        end

        def render(text)
          Erubis::Eruby.new(text).evaluate(self)
        rescue StandardError => e
          raise Exceptions::TemplateError.new(e.message, e.backtrace.join("\n")[/^\(erubis\):(\d+)/, 1])
        end
      end

      def body
        path = %w{templates templates/default}.map { |folder| ::File.join(cookbook, folder, source || "#{::File.basename(name)}.erb") }
        Page.new(node, variables || {}).render(::File.read(path.find { |file| ::File.exist?(file) }))
      end
    end

    class Execute < Resource
      property :command, :cwd, :creates, :environment

      def default_action
        :run
      end

      def perform(_step)
        return false if creates && ::File.exist?(::File.expand_path(creates, cwd || "/"))

        out, err, status = Open3.capture3(environment || {}, "/bin/sh", "-c", command || name, chdir: cwd || "/")
        return if status.success?

        raise Exceptions::ShellCommandFailed, "Expected process to exit with [0], but received '#{status.exitstatus}'\n" \
          "---- Begin output of #{command || name} ----\nSTDOUT: #{out.strip}\nSTDERR: #{err.strip}\n---- End output of #{command || name} ----"
      end
    end

    # Custom is a resource of a cookbook: its actions declare resources.
    class Custom < Resource
      class << self
        include Chef::Mixin::FromFile
        attr_reader :actions, :book

        def action(name, &block)
          (@actions ||= {})[name] = block
        end

        %i{provides resource_name unified_mode}.each { |setting| define_method(setting) { |*| nil } }

        # load makes the type COOKBOOK_NAME known.
        def load(file, book)
          of = Class.new(self).tap { |type| type.class_from_file(file) }
          Recipe.type(:"#{book}_#{::File.basename(file, ".rb")}", of)
        end
      end

      def perform(step)
        inner = Context.new(node)
        recipe = Recipe.new(inner, cookbook, @place[/\S+/])
        recipe.new_resource = self
        recipe.instance_exec(&self.class.actions.fetch(step))
        inner.all_resources.each(&:converge)
      end
    end

    # What is declared as a package is one of the system's package manager.
    class AptPackage < Resource
      def default_action
        :install
      end

      def perform(_step)
        raise "there are no packages here"
      end

      def to_s
        "apt_package[#{name}]"
      end
    end

    ALL = { log: Log, package: AptPackage, ruby_block: RubyBlock, directory: Directory, file: File, template: Template, execute: Execute }.freeze
  end
end
