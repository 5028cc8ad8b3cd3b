package rule

// All returns the rules, those found by stages first.
func All() []*Rule { return all }

var all = append(stages(),
	// resources
	&unknownType,
	&unknownProperty,
	&missingProperty,
	&propertyType,
	&propertyLimit,
	&exclusiveProperties,
	&oneOf,
	&dependentProperty,
	&serverBoot,
	&serverNetwork,
	&deploymentFormat,
	&missingArgument,
	&unfitTemplate,
	&deprecatedType,
	&deprecatedProperty,
	&ranges,
	&usedTwice,
	&neverSignalled,
	&seldomSignalled,
	&wrongKind,
	&unreachableAddress,
	&longWait,
	&replacedServer,
	&indexInFunction,
	&attributePath,
	&attributeType,
	&snapshotPolicy,

	// language
	&newerVersion,
	&groupedParameter,
	&misspeltFunction,

	// style
	&unusedParameter,
	&unusedCondition,
	&absentKey,
	&redundantDependency,
	&unusedResource,
	&unusedOutput,
	&unusedEntry,
	&constantCondition,

	// reading
	&notJSON,
	&surprisingScalar,
	&oddSpace,

	// security
	&openToTheWorld,
	&shownPassword,
	&secretInClear,
	&plainDownload,
	&secretInUserData,

	// user-data
	&shellSyntax,
	&shellAdvice,
	&ignoredUserData,
	&cloudConfig,
	&largeUserData,

	// roles
	&hookByHand,
	&neverWritten,
	&neverRead,
	&splitList,
	&notDeclared,
)
