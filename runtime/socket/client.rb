require "json"
require "monitor"
require "socket"

module Hotc
  # Failure ends the run: the role has failed in the agent's books, whatever a
  # recipe makes of the exception.
  class Failure < RuntimeError; end

  # Agent asks hotc's agent over the role's socket: a line of JSON each way, a
  # connection for each question. (A connection that is kept would be shared with
  # the processes that a run forks.)
  class Agent
    # deeper values than this are refused on both sides
    DEPTH = 1000

    def initialize(socket)
      @socket = socket
    end

    # get waits for an input's value.
    def get(name)
      ask("get" => name)["value"]
    end

    # put publishes an output's value, given as JSON.
    def put(name, json)
      ask_line(%({"put":#{JSON.generate(name)},"value":#{json}}))
    end

    private

    def ask(question)
      ask_line(JSON.generate(question))
    end

    def ask_line(line)
      answer = UNIXSocket.open(@socket) do |s|
        s.write(line + "\n")
        s.gets("\n")
      end
      raise Failure, "hotc: the agent has ended this role" if answer.nil?

      answer = JSON.parse(answer.force_encoding(Encoding::UTF_8), max_nesting: DEPTH)
      raise Failure, "hotc: #{answer["error"]}" if answer["error"]

      answer
    rescue SystemCallError => e
      raise Failure, "hotc: the agent cannot be reached: #{e.message}"
    end
  end

  # Awaited is a declared input, whose value comes from the agent.
  class Awaited
    attr_reader :name

    def initialize(agent, name, optional)
      @agent, @name, @optional = agent, name, optional
      @lock = Monitor.new
      @asked = false
    end

    # value waits until the value is there. It is asked for once.
    def value
      return @value if @asked

      @lock.synchronize do
        unless @asked
          @value = ask
          @asked = true
        end
      end
      @value
    end

    def optional?
      @optional
    end

    # void? says that an optional input did not come: what the tool has without it
    # stands. It waits.
    def void?
      @optional && value.nil?
    end

    private

    def ask
      @agent.get(@name)
    end
  end

  # utf8 is a text of an output's as JSON has it; encoder names what encodes binary data.
  def self.utf8(output, value, encoder)
    value = value.encode(Encoding::UTF_8) unless value.encoding == Encoding::ASCII_8BIT
    value = value.dup.force_encoding(Encoding::UTF_8)
    raise Failure, "hotc: output #{output} is not UTF-8; encode binary data, for example with #{encoder}" unless value.valid_encoding?

    value
  end
end
