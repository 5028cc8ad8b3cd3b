package install

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// versionText matches a version in a program's output: "7.23.0",
// "ansible-playbook [core 2.14.18]", "Cinc Client: 18.4.12", "salt-call 3006.1 (…)".
var versionText = regexp.MustCompile(`[0-9]+(\.[0-9A-Za-z]+)+|[0-9]{4,}`)

func versionIn(printed string) string { return versionText.FindString(printed) }

// fits reports whether a version is suitable: "" is any, "7.23" any that begins with these
// parts, ">=7.2" that or any later one.
func fits(version, want string) bool {
	if want == "" {
		return true
	}
	if version == "" {
		return false
	}
	if lowest, isLowest := strings.CutPrefix(want, ">="); isLowest {
		return compare(version, strings.TrimSpace(lowest)) >= 0
	}
	is, wanted := strings.Split(version, "."), strings.Split(want, ".")
	if len(wanted) > len(is) {
		return false
	}
	for n, part := range wanted {
		if comparePart(is[n], part) != 0 {
			return false
		}
	}
	return true
}

// compare orders versions part by part; a missing part is 0.
func compare(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for n := range max(len(as), len(bs)) {
		x, y := "0", "0"
		if n < len(as) {
			x = as[n]
		}
		if n < len(bs) {
			y = bs[n]
		}
		if c := comparePart(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// comparePart orders numbers numerically, other parts as text.
func comparePart(a, b string) int {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return cmp.Compare(x, y)
}
