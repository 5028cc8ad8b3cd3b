require "json"

module Hotc
  # Report records why a run fails, for the role's cause.
  class Report
    # a line of a cookbook, in a backtrace
    COOKBOOK_LINE = %r{([^/]+/(?:recipes|attributes|libraries|resources|providers|definitions|templates)/[^:]+:[0-9]+)}.freeze

    # file is where to; nil records nothing.
    def initialize(file)
      @file = file
    end

    # failing records the resource of an exception. Of nested resources, the outermost is
    # recorded last.
    def failing(resource, exception)
      (@failing ||= []) << [exception, "#{resource} (#{resource.defined_at})"]
    end

    # write records an exception, the first of its causes first.
    def write(exception)
      return unless @file

      first, *others = causes(exception).map { |cause| said(cause) }
      File.write(@file, JSON.generate(first.merge("others" => others)))
    end

    private

    # causes are the failures of one run, such as of a resource and then of delayed
    # notifications, in order.
    def causes(exception)
      inner = Array(exception.instance_variable_get(:@all_failures)).map(&:last)
      inner = Array(exception.wrapped_errors) if inner.empty? && exception.respond_to?(:wrapped_errors)
      inner.empty? ? [exception] : inner.flat_map { |cause| causes(cause) }
    end

    def said(exception)
      said = { "class" => exception.class.name, "message" => refusal(exception) || exception.message, "at" => place(exception), "resource" => resource(exception) }
      said.compact.transform_values { |text| text.dup.force_encoding(Encoding::UTF_8).scrub("?") }
    end

    # resource is the one of an exception, or of its cause.
    def resource(exception)
      _, resource = Array(@failing).reverse.find { |inner, _| inner.equal?(exception) || exception.message.end_with?(inner.message) }
      resource
    end


    # place is an exception's place in a cookbook.
    def place(exception)
      return "line #{exception.line_number} of the template" if exception.respond_to?(:line_number) && exception.line_number

      Array(exception.backtrace).map { |line| line[COOKBOOK_LINE, 1] }.compact.first
    end

    # refusal is the message of Chef's in-process server about missing cookbooks of a run
    # list.
    def refusal(exception)
      return unless exception.respond_to?(:response)

      errors = Array(JSON.parse(exception.response.body)["error"])
      "#{exception.message}: #{errors.map { |error| lacking(error) }.join("; ")}"
    rescue StandardError
      nil
    end

    def lacking(error)
      error = JSON.parse(error) if error.is_a?(String) && error.start_with?("{")
      return error.to_s unless error.is_a?(Hash)

      missing = error.values_at("non_existent_cookbooks", "cookbooks_with_no_versions").flatten.compact
      missing.empty? ? error["message"] : "there is no cookbook #{missing.join(", ")}"
    end
  end
end
