package coordinator

import (
	"fmt"
	"regexp"
)

// stackName is what Heat takes as a stack's name.
var stackName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,254}$`)

// ParseDeployment checks that a name can be a stack's in Heat. It has no colon,
// on which the tokens' formula relies.
func ParseDeployment(name string) (Deployment, error) {
	if !stackName.MatchString(name) {
		return "", fmt.Errorf("%q is no stack's name: a letter, then up to 254 letters, digits, '_', '-' and '.'", name)
	}
	return Deployment(name), nil
}
