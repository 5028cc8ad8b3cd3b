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

    # failing notes the resource that the exception to come is about.
    def failing(resource)
      @resource = "#{resource} (#{resource.defined_at})"
    end

    def write(exception)
      return unless @file

      said = { "class" => exception.class.name, "message" => refusal(exception) || exception.message, "at" => place(exception), "resource" => @resource }
      File.write(@file, JSON.generate(said.compact.transform_values { |text| text.dup.force_encoding(Encoding::UTF_8).scrub("?") }))
    end

    private

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
