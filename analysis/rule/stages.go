package rule

import (
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
)

// stages returns the rules for what the compiler's stages find in templates.
func stages() []*Rule {
	var out []*Rule
	add := func(c Category, t Evidence, s source.Severity, codes ...source.Code) {
		out = append(out, lists.Map(codes, func(code source.Code) *Rule { return &Rule{Code: code, Category: c, Severity: s, Evidence: t} })...)
	}
	add(Reading, HeatRefuses, source.Error, source.CannotRead, source.NotYAML, source.Tab, source.SecondDocument, source.TooDeep, source.NotText, source.BadTag, source.Unrendered)
	add(Reading, TextShows, source.Warning, source.DuplicateKey)
	add(Language, HeatRefuses, source.Error, source.NotATemplate, source.UnknownVersion, source.BadSection, source.BadArgument, source.UnknownParameter, source.UnknownResource,
		source.UnknownFunction, source.BadParameter, source.BadEnvironment, source.Recursion, source.NameTwice, source.HeatCycle)
	add(Language, HeatRefuses, source.Warning, source.IfWithoutElse, source.UnknownAttribute)
	add(Roles, TextShows, source.Error, source.BadMetadata, source.BadSource, source.DuplicateRole, source.DuplicateOutput, source.AttributeTaken, source.UnknownOutput,
		source.UnknownRole, source.NotYet, source.RolesElsewhere, source.BadScript, source.NoCookbook, source.BadFile, source.NoBound, source.BadPlugin)
	add(Roles, TextShows, source.Warning, source.UnknownDriver)
	add(Roles, CreationFails, source.Error, source.RunTimeInTopology, source.RunTimeInProperty, source.SelfReference, source.NeedsHeat, source.WrongType, source.HeatsFunction,
		source.MissingProducer, source.ImpossibleTime, source.SecretParameter)
	add(Security, TextShows, source.Error, source.SecretShown, source.SecretLeak, source.HiddenInUserData, source.SecretInEnvironment)
	add(Order, CreationFails, source.Error, source.Deadlock)
	add(Order, CreationFails, source.Warning, source.PossibleDeadlock, source.TimedDeadlock)
	add(Emission, HeatRefuses, source.Error, source.OverLimit)
	add(Emission, CreationFails, source.Error, source.UserDataFormat, source.NameTaken, source.OutputFolder, source.PinImpossible)
	add(UserData, CreationFails, source.Error, source.BadCloudConfig, source.UserDataIgnored)
	add(Security, TextShows, source.Warning, source.HiddenLeftOut)
	add(Security, CreationFails, source.Warning, source.SecretPerhapsRead)
	add(Style, TextShows, source.Warning, source.UselessIgnore)
	return out
}
