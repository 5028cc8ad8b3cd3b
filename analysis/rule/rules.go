package rule

// All are the rules, those that stages find first.
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
	&serverBoot,
	&serverNetwork,
	&deploymentFormat,

	// language
	&groupedParameter,

	// roles
	&hookByHand,
	&computedRead,
	&neverWritten,
	&neverRead,
	&notDeclared,
)
