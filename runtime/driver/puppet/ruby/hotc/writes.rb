module Hotc
  # Writes wraps the places where Puppet assigns a variable or has applied a resource.
  module Writes
    def self.install
      Puppet::Parser::Scope.prepend(Scope)
      Puppet::Transaction.prepend(Transaction)
    end

    # Scope reports variables of the top scope, of a node, and of classes.
    module Scope
      def setvar(name, value, options = Puppet::Parser::Scope::EMPTY_HASH)
        super.tap do
          if @symtable.equal?(effective_symtable(options[:ephemeral]))
            if is_topscope? || is_nodescope?
              Hotc.run.outputs.assigned(name, value)
            elsif is_classscope?
              Hotc.run.outputs.assigned("#{source.name}::#{name}", value)
            end
          end
        end
      end
    end

    # Transaction applies a catalog.
    module Transaction
      def evaluate(...)
        # Puppet creates its own folders with catalogs, too
        return super unless catalog.host_config?

        @hotc_outputs = wanted_by_hotc
        super.tap { Hotc.run.outputs.ended unless @report.resource_statuses.any? { |_, status| status.failed? || status.failed_to_restart? } }
      end

      # A resource has been applied when nothing of it failed, including its refresh (the
      # restart of a service).
      def eval_resource(resource, ancestor = nil)
        super.tap do
          status = resource_status(resource)
          Log.failed(resource, status) if status && (status.failed? || status.failed_to_restart?) && catalog.host_config?
          unless status.nil? || status.failed? || status.failed_to_restart? || status.skipped? || status.dependency_failed? || resource.noop?
            (@hotc_outputs&.delete(resource_name(resource)) || []).each { |name| Hotc.run.outputs.applied(name) }
          end
        end
      end

      private

      # The end of a class, or of a defined type, is a resource of its own.
      def resource_name(resource)
        resource.is_a?(Puppet::Type.type(:whit)) ? resource.name : resource.ref
      end

      # wanted_by_hotc are outputs by the resource whose completion they report.
      def wanted_by_hotc
        containers = [Puppet::Type.type(:component), Puppet::Type.type(:stage)]
        Hotc.run.outputs.resources.each_with_object({}) do |output, wanted|
          found = catalog.resource(Puppet::Resource.new(output["resource"]).ref)
          if found.nil?
            Puppet.warning("hotc: output #{output["name"]}: #{output["resource"]} is not in the catalog")
            next
          end
          name = containers.any? { |type| found.is_a?(type) } ? "completed_#{found.ref}" : found.ref
          (wanted[name] ||= []) << output["name"]
        end
      end
    end
  end
end
