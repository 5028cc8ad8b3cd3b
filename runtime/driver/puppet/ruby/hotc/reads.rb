module Hotc
  # Reads wraps the places where Puppet's language looks up a variable.
  module Reads
    class << self
      # binding_template is set while a template copies all variables of its scope, which is
      # not a read of them.
      attr_accessor :binding_template

      def install
        Puppet::Parser::Scope.prepend(Scope)
        Puppet::Parser::Compiler.prepend(Compiler)
        Puppet::Parser::TemplateWrapper.prepend(Template)
        settle_interpolation
      end

      private

      # settle_interpolation keeps Hiera from interpolating the result of a %{…} again: it may
      # have come from another server, through any variable. Data from files were interpolated
      # when read.
      def settle_interpolation
        Puppet::Pops::Lookup::Interpolation.class_eval do
          methods = instance_method(:interpolate_method)
          define_method(:interpolate_method) do |name|
            found = methods.bind(self).call(name)
            # the result of alias is used unchanged, whatever its type
            next found if name == :alias

            lambda do |*args|
              value = found.call(*args)
              value.nil? ? nil : Settled.new(value)
            end
          end
          private :interpolate_method
        end
      end
    end

    # Settled is not a String to Hiera, and becomes one when interpolated.
    class Settled
      def initialize(value)
        @value = value
      end

      def to_s
        @value.to_s
      end
    end

    # Scope finds inputs that no nearer variable hides.
    module Scope
      def lookupvar(name, options = Puppet::Parser::Scope::EMPTY_HASH)
        if Hotc.run.variables.key?(name) && is_topscope? && !local?(name)
          input = Hotc.run.input(name)
          return input.variable if input
        end
        super
      end

      def lookup_qualified_variable(name, options)
        if Hotc.run.inputs.key?(name) && (Hotc.run.variables.key?(name) || !@compiler.qualified_variables.include?(name))
          input = Hotc.run.input(name)
          return input.variable if input
        end
        super
      end

      def exist?(name)
        plain = name.delete_prefix("::")
        return true if Hotc.run.variables.key?(plain) && Hotc.run.input(plain)

        super
      end

      # copies the variables; an ERB template's own copying is not a read of them.
      def to_hash(recursive = true, include_undef = false)
        case Reads.binding_template
        when :begun
          begin
            Reads.binding_template = :copying
            super
          ensure
            Reads.binding_template = nil
          end
        when :copying
          super
        else
          is_topscope? ? super.merge(Hotc.run.variables.keys.to_h { |name| [name, lookupvar(name)] }) : super
        end
      end

      def setvar(name, value, options = Puppet::Parser::Scope::EMPTY_HASH)
        if is_topscope? && Hotc.run.variables.key?(name) && !Hotc.run.outputs.paused? && @symtable.equal?(effective_symtable(options[:ephemeral]))
          raise Puppet::ParseError, "Cannot reassign variable '$#{name}': it is an input of the role" if Hotc.run.input(name)
        end
        super
      end

      def set_facts(facts)
        super
        return if Hotc.run.variables.empty?

        table = effective_symtable(false)
        table["facts"] = Facts.over(table["facts"], Hotc.run.variables)
        compiler.qualified_variables["facts"] = table["facts"] if is_topscope?
      end

      private

      # local? tells whether an enclosing block (of a lambda, of a template) has a variable of
      # the name, which hides the scope's own.
      def local?(name)
        nearest = @ephemeral.last
        nearest = nearest.parent until nearest.nil? || nearest.equal?(@symtable) || nearest.bound?(name)
        !nearest.nil? && !nearest.equal?(@symtable)
      end
    end

    # Compiler separates the variables that are facts from those that a manifest sets.
    module Compiler
      def set_node_parameters
        Hotc.run.outputs.paused { super }
      end
    end

    # Template is an ERB template: the inputs that its text names as @name are read when
    # it is rendered.
    module Template
      def result(string = nil)
        text = string || Puppet::FileSystem.read_preserve_line_endings(file)
        Hotc.run.variables.each_key do |name|
          instance_variable_set("@#{name}", scope.lookupvar(name)) if text.match?(/@#{name}\b/)
        end
        Reads.binding_template = :begun
        super
      ensure
        Reads.binding_template = nil
      end
    end
  end
end
