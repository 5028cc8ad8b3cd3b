package hot

import "strings"

// Version is a template's version: a heat_template_version, or one of the two
// CloudFormation formats. These lack most of HOT's features, so they are ordered before
// all of HOT's versions.
type Version uint8

// The versions that Heat 19 knows (heat/engine/cfn/template.py,
// heat/engine/hot/template.py).
const (
	CFN20121212 Version = iota // HeatTemplateFormatVersion
	CFN20100909                // AWSTemplateFormatVersion, which has conditions
	V20130523
	V20141016
	V20150430
	V20151015
	V20160408
	V20161014
	V20170224
	V20170901
	V20180302
	V20180831
	V20210416
)

// MemberVersion is that of the templates that hotc generates for members of groups.
const MemberVersion = V20151015

// firstVersion and lastVersion are the ends of the order.
const (
	firstVersion = CFN20121212
	lastVersion  = V20210416
)

// cfnVersions are the CloudFormation formats, by the key that names them.
var cfnVersions = map[string]Version{"AWSTemplateFormatVersion": CFN20100909, "HeatTemplateFormatVersion": CFN20121212}

var versionNames = [...]string{"HeatTemplateFormatVersion 2012-12-12", "AWSTemplateFormatVersion 2010-09-09", "2013-05-23", "2014-10-16", "2015-04-30", "2015-10-15", "2016-04-08", "2016-10-14",
	"2017-02-24", "2017-09-01", "2018-03-02", "2018-08-31", "2021-04-16"}

var releaseNames = map[string]Version{"newton": V20161014, "ocata": V20170224, "pike": V20170901, "queens": V20180302,
	"rocky": V20180831, "wallaby": V20210416}

func (v Version) String() string { return versionNames[v] }

// CFN reports whether this is a CloudFormation format.
func (v Version) CFN() bool { return v < V20130523 }

// hasConditions reports whether this version supports conditions.
func (v Version) hasConditions() bool { return v >= V20161014 || v == CFN20100909 }

// Versions are all versions of HOT, oldest first.
func Versions() []string { return versionNames[V20130523:] }

// Head is the key and value that declare the version in a template.
func (v Version) Head() (key, value string) {
	if key, value, ok := strings.Cut(v.String(), " "); ok {
		return key, value
	}
	return "heat_template_version", v.String()
}

// ParseVersion parses a version of HOT: a date or a release's name.
func ParseVersion(text string) (Version, bool) {
	if v, ok := releaseNames[text]; ok {
		return v, true
	}
	for i, name := range Versions() {
		if name == text {
			return V20130523 + Version(i), true
		}
	}
	return 0, false
}
