require "json"

module Hotc
  # Report writes down why a run fails, for the role's cause.
  class Report
    # a line of a cookbook, in a backtrace
    COOKBOOK_LINE = %r{([^/]+/(?:recipes|attributes|libraries|resources|providers|definitions|templates)/[^:]+:[0-9]+)}.freeze

    # file is where; nil is nowhere.
    def initialize(file)
      @file = file
    end

    # failing notes the resource that an exception is about. Of resources in each other
    # the outermost is noted last.
    def failing(resource, exception)
      (@failing ||= []) << [exception, "#{resource} (#{resource.defined_at})"]
    end

    # write notes an exception, the first of its causes first.
    def write(exception)
      return unless @file

      first, *others = causes(exception).map { |cause| said(cause) }
      File.write(@file, JSON.generate(first.merge("others" => others)))
    end

    private

    # causes are those of several failures in one run, such as of a resource and then of
    # delayed notifications, in order.
    def causes(exception)
      inner = Array(exception.instance_variable_get(:@all_failures)).map(&:last)
      inner = Array(exception.wrapped_errors) if inner.empty? && exception.respond_to?(:wrapped_errors)
      inner.empty? ? [exception] : inner.flat_map { |cause| causes(cause) }
    end

    def said(exception)
      said = { "class" => exception.class.name, "message" => refusal(exception) || exception.message, "at" => place(exception), "resource" => resource(exception) }
      said.compact.transform_values { |text| text.dup.force_encoding(Encoding::UTF_8).scrub("?") }
    end

    # resource is the one that an exception, or one that it repeats, is about.
    def resource(exception)
      _, resource = Array(@failing).reverse.find { |inner, _| inner.equal?(exception) || exception.message.end_with?(inner.message) }
      resource
    end


    # place is where in a cookbook an exception comes from.
    def place(exception)
      return "line #{exception.line_number} of the template" if exception.respond_to?(:line_number) && exception.line_number

      Array(exception.backtrace).map { |line| line[COOKBOOK_LINE, 1] }.compact.first
    end

    # refusal is what Chef's own server, in the same process, says of a run list whose
    # cookbooks are not all there.
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
