package onap

import (
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
)

var imageParameter = regexp.MustCompile(`^[A-Za-z0-9_]+_image_name$`)

// findImages is R-58670, with R-901331.
func findImages(l *rule.Checker) {
	for _, s := range servers(l) {
		s.isParameter(l, "image", imageParameter, "{vm-type}_image_name", "R-901331", "R-58670")
	}
}
