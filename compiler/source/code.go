package source

// Code names a kind of diagnostic. It never changes its meaning.
type Code string

// The codes, by the stage that finds them: H1 reading, H2 the language, H3 roles,
// H4 binding, H5 the order of reads and writes, H6 what is emitted, H7 the
// coordinator, Heat and the operator's commands, H8 `hotc run`, H9 how hotc is called and configured.
const (
	CannotRead          Code = "H101" // a file cannot be read
	NotYAML             Code = "H102" // the text is not YAML
	Tab                 Code = "H103" // a tab where YAML wants spaces
	SecondDocument      Code = "H104" // more than one YAML document
	TooDeep             Code = "H105" // nested deeper, or larger, than hotc reads
	DuplicateKey        Code = "H106" // a key stands twice; Heat takes the last
	NotText             Code = "H107" // not UTF-8, or control characters
	BadTag              Code = "H108" // a YAML tag or value that Heat refuses
	NotATemplate        Code = "H201" // no heat_template_version, or not a mapping
	UnknownVersion      Code = "H202" // a version that hotc does not know
	BadSection          Code = "H203" // a section that is not what HOT says
	BadArgument         Code = "H204" // a function's argument is wrong
	UnknownParameter    Code = "H205" // get_param of what is not declared
	UnknownResource     Code = "H206" // a reference to a resource that is not there
	UnknownFunction     Code = "H207" // a function that this version lacks
	BadParameter        Code = "H208" // a parameter's value breaks its type or constraints
	BadEnvironment      Code = "H209" // an environment file is wrong
	Recursion           Code = "H212" // a template that nests itself
	UnknownProperty     Code = "H213" // a property that the resource's type has not
	MissingProperty     Code = "H214" // a property that the resource's type needs
	PropertyType        Code = "H215" // a property's value that is not of its type
	UnknownAttribute    Code = "H216" // an attribute that the resource's type has not
	UnknownType         Code = "H217" // a resource type that stock Heat has not, but nearly
	NameTwice           Code = "H218" // a parameter and a resource of one name
	IfWithoutElse       Code = "H219" // an `if` without an else, on which many a Heat fails
	PropertyLimit       Code = "H220" // a property's value breaks a constraint of its type
	GroupedParameter    Code = "H221" // parameter_groups that name no parameter, or one twice
	ExclusiveProperties Code = "H222" // properties that exclude each other
	OneOf               Code = "H223" // none of several properties of which there must be one
	ServerBoot          Code = "H224" // a server that boots from nothing, or from two things
	ServerNetwork       Code = "H225" // a server's network that names none
	DeploymentFormat    Code = "H226" // deployments on a server whose user_data_format cannot run them
	BadMetadata         Code = "H301" // the hotc block breaks its schema
	UnknownDriver       Code = "H302" // no driver of this name
	BadSource           Code = "H303" // a role's source is not what its driver takes
	DuplicateRole       Code = "H304" // two roles of one name on one server
	DuplicateOutput     Code = "H305" // two roles of a server declare one attribute
	AttributeTaken      Code = "H306" // an output is named like a real attribute
	UnknownOutput       Code = "H307" // a reference to an output that nobody declares
	UnknownRole         Code = "H308" // depends_on of a role that is not there
	NotYet              Code = "H309" // a part of the design that this version lacks
	RolesElsewhere      Code = "H310" // roles on what is not an OS::Nova::Server
	SecretShown         Code = "H311" // a secret value is asked for where it would be shown
	HiddenInUserData    Code = "H312" // a hidden parameter reaches user_data
	BadScript           Code = "H313" // a role's script is not what its shell takes
	NoCookbook          Code = "H314" // a run list names what is not in the cookbooks or roles
	BadFile             Code = "H316" // a role's file cannot be what it says
	NoBound             Code = "H318" // a group's number is Heat's, and nothing says how large it may be
	BadPlugin           Code = "H320" // a driver's plug-in does not answer as it should
	NothingToRun        Code = "H321" // a role follows an input, and cannot be brought up to date
	RunTimeInShape      Code = "H401" // a run-time value decides the stack's shape
	RunTimeInProperty   Code = "H402" // a run-time value in a resource's property
	SelfReference       Code = "H403" // a server's user_data would need the server itself
	NeedsHeat           Code = "H404" // a run-time value in an output, with Heat left out
	HeatCycle           Code = "H406" // a cycle of dependencies that Heat refuses
	WrongType           Code = "H407" // a value of a type that is not what its use needs
	SecretLeak          Code = "H408" // a secret reaches a place where others can read it
	HeatsFunction       Code = "H409" // only Heat can compute what needs a run-time value
	MissingProducer     Code = "H411" // who would write a value is not in the deployment
	ImpossibleTime      Code = "H412" // an input cannot be bound when the user wants it
	SecretParameter     Code = "H413" // a parameter that cannot be given to `hotc apply`
	Deadlock            Code = "H501" // roles that wait for each other in every order
	PossibleDeadlock    Code = "H502" // roles that wait for each other in some order
	TimedDeadlock       Code = "H503" // roles that wait for each other until a time-out
	NeverWritten        Code = "H504" // an output that its script does not write
	NeverRead           Code = "H505" // an input that its script does not read
	NotDeclared         Code = "H506" // a script names an input or output that its role has not
	HookByHand          Code = "H507" // a hook that Heat's own commands do not run
	SecretInEnvironment Code = "H508" // a script reads a secret from its environment
	ComputedRead        Code = "H509" // a script reads its environment by names that are computed
	WatchCycle          Code = "H510" // roles that follow each other's outputs in a cycle
	OverLimit           Code = "H601" // over a limit of Heat or Nova
	UserDataFormat      Code = "H602" // a user_data_format that hotc cannot keep yet
	NameTaken           Code = "H603" // the template uses a name that hotc needs
	OutputFolder        Code = "H604" // the output folder cannot be written
	HiddenLeftOut       Code = "H608" // a hidden parameter's value stays out of the output folder
	PinImpossible       Code = "H605" // a value that cannot be pinned
	BadCloudConfig      Code = "H606" // a cloud-config that cloud-init would ignore
	UserDataIgnored     Code = "H607" // user_data that nothing on the server would read
	Internal            Code = "H699" // a mistake of hotc's own; nothing was written
	NoCoordinator       Code = "H701" // the coordinator cannot be reached
	BadSecret           Code = "H702" // a secret that is missing, weak, or not this deployment's
	ChangedPlan         Code = "H703" // another plan on a live deployment
	NoDeployment        Code = "H704" // the deployment is not there
	BadPlan             Code = "H705" // plan.json or a file beside it is wrong
	UnknownName         Code = "H706" // no such server, role or output
	OperationFailed     Code = "H707" // an operation on the coordinator failed
	MissingSecret       Code = "H708" // a secret that hotc apply is to give is not there, or not right
	NotOurs             Code = "H709" // somebody else's node stands in a deployment's place
	NoHeat              Code = "H710" // Heat or Keystone cannot be reached, or does not let us in
	HeatRefused         Code = "H711" // Heat refuses what it is asked for
	StackFailed         Code = "H712" // Heat could not make, change or delete the stack
	MissingFact         Code = "H801" // `hotc run` needs a value that only Heat knows
	RoleFailed          Code = "H802" // a role failed
	NoAgent             Code = "H803" // the agent's binary is not found
	Usage               Code = "H901" // wrong usage
	BadConfig           Code = "H902" // a configuration or baseline of hotc lint is wrong
	UselessIgnore       Code = "H903" // a comment hotc:ignore that suppresses nothing
)
