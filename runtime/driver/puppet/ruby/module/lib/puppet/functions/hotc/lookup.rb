# The role's inputs as Hiera data, the global layer of a run started by hotc's agent.
Puppet::Functions.create_function(:"hotc::lookup") do
  dispatch :find do
    param "String[1]", :key
    param "Hash[String[1], Any]", :options
    param "Puppet::LookupContext", :context
  end

  def find(key, _options, context)
    input = Hotc.run.input(key)
    context.not_found if input.nil?
    input.data
  end
end
