package userdata

import (
	"fmt"
	"strings"
)

// ownEnd ends the user's own text in the script for HEAT_CFNTOOLS.
const ownEnd = "==hotc-own-5d0c1c2a=="

// CheckScript says why a text cannot lie in the script for HEAT_CFNTOOLS.
func CheckScript(static string) error {
	if strings.Contains(static, ownEnd) {
		return fmt.Errorf("holds %q, which ends it in hotc's own user-data", ownEnd)
	}
	return nil
}

// script is the file for servers whose user_data Heat's cfntools run: Heat writes
// it to /var/lib/heat-cfntools/cfn-userdata and runs that (heat/cloudinit,
// part_handler.py and loguserdata.py). It installs what hotc needs, puts the user's
// text in its own place, and becomes it.
func script(o Options) ([]byte, error) {
	install, err := install(o)
	if err != nil {
		return nil, err
	}
	return []byte(piece("cfntools.sh", map[string]string{"@install.sh@": strings.TrimPrefix(install, "#!/bin/sh\n")}) + "\n"), nil
}
