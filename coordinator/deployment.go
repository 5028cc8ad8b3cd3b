package coordinator

import (
	"fmt"
	"regexp"
)

// stackName is what Heat takes as a stack's name, as far as it is short enough. A count in
// the expression itself would be unrolled, which takes half of a command's start.
var stackName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

const longestStackName = 255

// ParseDeployment checks that a name can be a stack's in Heat. It has no colon,
// on which the tokens' formula relies.
func ParseDeployment(name string) (Deployment, error) {
	if len(name) > longestStackName || !stackName.MatchString(name) {
		return "", fmt.Errorf("%q is not a stack's name: a letter, then up to 254 letters, digits, '_', '-' and '.'", name)
	}
	return Deployment(name), nil
}
