module Hotc
  # Log records a run's first failure, with its place in the manifests, for the agent to
  # repeat.
  module Log
    class << self
      def install(path)
        @path = path
        Puppet::Util::Log.newdesttype(:hotc_failure) do
          def handle(message)
            Hotc::Log.error(message) if %i{err alert emerg crit}.include?(message.level)
          end
        end
        Puppet::Util::Log.newdestination(:hotc_failure)
      end

      # error records the first error. (A fact that cannot be resolved is not fatal.)
      def error(message)
        return if @said || message.source == "Facter"

        text = message.to_s
        text = "#{message.source}: #{text}" unless message.source == "Puppet"
        keep(text)
      end

      # failed records the first failed resource: its message has no place.
      def failed(resource, status)
        return if @resource

        @resource = true
        event = status.events.find { |e| e.status == "failure" }
        text = "#{resource.ref}: #{event ? event.message : "failed"}"
        text += " (file: #{resource.file}, line: #{resource.line})" if resource.file
        keep(text)
      end

      private

      def keep(text)
        @said = true
        File.write(@path, text.lines.first.to_s.chomp)
      end
    end
  end
end
