package hot

// Version is a heat_template_version, by its place in the order of versions.
type Version uint8

// The versions of HOT that Heat 19 knows (heat/engine/hot/template.py).
const (
	V20130523 Version = iota
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

var versionNames = [...]string{"2013-05-23", "2014-10-16", "2015-04-30", "2015-10-15", "2016-04-08", "2016-10-14",
	"2017-02-24", "2017-09-01", "2018-03-02", "2018-08-31", "2021-04-16"}

var releaseNames = map[string]Version{"newton": V20161014, "ocata": V20170224, "pike": V20170901, "queens": V20180302,
	"rocky": V20180831, "wallaby": V20210416}

func (v Version) String() string { return versionNames[v] }

// ParseVersion reads a version by its date or its release's name.
func ParseVersion(text string) (Version, bool) {
	if v, ok := releaseNames[text]; ok {
		return v, true
	}
	for i, name := range versionNames {
		if name == text {
			return Version(i), true
		}
	}
	return 0, false
}
