package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
)

// ReachNobody summarizes where later changes of Heat's values do not reach roles; "" if they reach
// all. `hotc explain --changes` lists the values.
func (r *Result) ReachNobody() string {
	if r.Built.Plan.Signal != contract.RelaySignals {
		roles := 0
		for role := range r.Program.Roles {
			if slices.ContainsFunc(role.Inputs, r.Findings.Heat.Reads) {
				roles++
			}
		}
		if roles == 0 {
			return ""
		}
		return fmt.Sprintf("later changes of Heat's values do not reach %s: only a relay passes them on to existing servers (--signal=relay)", source.Counted(roles, "role"))
	}
	fixed, secret := 0, 0
	for role := range r.Program.Roles {
		reads := false
		for _, in := range role.Inputs {
			switch {
			case r.Findings.Heat.Secret(in) != nil:
				secret++
			case r.Findings.Heat.Reads(in):
				reads = true
			}
		}
		if reads && role.Update() == nil && !role.Idempotent {
			fixed++
		}
	}
	var parts []string
	if fixed > 0 {
		parts = append(parts, fmt.Sprintf("%s without a hook `update` and not `idempotent`", source.Counted(fixed, "role")))
	}
	if secret > 0 {
		parts = append(parts, fmt.Sprintf("%s with a secret of Heat's (supply it with --secret-param)", source.Counted(secret, "input")))
	}
	if parts == nil {
		return ""
	}
	return "later changes of Heat's values do not reach " + strings.Join(parts, ", and ") + ": `hotc explain --changes` names them"
}

// checkWatched refuses to follow Heat's values where nothing carries them.
func (r *Result) checkWatched(signal contract.Signalling, diags *source.Diagnostics) {
	told := map[string]bool{}
	for role := range r.Program.Roles {
		for _, in := range role.Inputs {
			if !in.WatchAt.Known() || !r.Findings.Heat.Reads(in) || told[in.WatchAt.String()] {
				continue
			}
			told[in.WatchAt.String()] = true
			switch way := r.Findings.Heat.Secret(in); {
			case signal != contract.RelaySignals:
				diags.Error(source.NeedsHeat, in.WatchAt, fmt.Sprintf("role %q follows %q, which Heat supplies, and nothing would pass on a new value", role.Name, in.Name), "compile with --signal=relay")
			case way != nil:
				d := diags.Error(source.NeedsHeat, in.WatchAt, fmt.Sprintf("role %q follows %q, which is secret: a relay would read it where anyone who can see the stack can", role.Name, in.Name),
					"give it with `hotc apply --secret-param`, which Heat does not see; or leave `watch` out")
				d.Notes = append(append(d.Notes, source.Note{At: way.At, Message: "the secret enters here"}), way.Hops...)
			}
		}
	}
}
