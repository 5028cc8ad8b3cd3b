require "erb"

# Erubis makes Ruby of a template.
module Erubis
  class Eruby
    def initialize(text)
      @src = convert(text)
    end

    def convert(text)
      ERB.new(text, trim_mode: "-").src.sub(/\A#.*\n/, "")
    end

    def evaluate(context)
      context.instance_eval(@src, "(erubis)", 1)
    end
  end
end
