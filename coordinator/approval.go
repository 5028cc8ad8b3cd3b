package coordinator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// A machine whose server's token was used before asks for approval: it writes down that it is
// there, beside others that ask, and waits until an operator admits it. What an agent of
// ours finds there it leaves as it is. But whoever has the token can write there what he
// likes, and so a request only helps operators to see who asks: they admit a machine by
// its public key, which stands on its console, whatever stands here.

// ApprovalRequest is what a machine says of itself whose token was used before.
type ApprovalRequest struct {
	Instance string    `json:"instance,omitempty"` // Nova's instance id
	Key      string    `json:"key,omitempty"`      // its public key, in base64
	Since    time.Time `json:"since,omitzero"`     // when it asked first
	Seen     time.Time `json:"seen,omitzero"`      // and last
}

// ApprovalRequests are the machines that ask to be one server, the one that came first
// first.
type ApprovalRequests struct {
	Machines []ApprovalRequest `json:"machines,omitempty"`
}

const (
	// mostAsking is how many machines can ask to be one server and be seen.
	mostAsking = 8
	// mostOfInstance is how long an instance's id can be.
	mostOfInstance = 128
	// askAgain is how often a machine says that it is still there, staleRequest how long
	// one counts that does not.
	askAgain, staleRequest = 10 * time.Minute, time.Hour
)

// TokenUsedError says that another machine has used this server's token before.
type TokenUsedError struct {
	Deployment Deployment
	Server     contract.ServerPath
	Key        string // this machine's, the public half
}

func (e *TokenUsedError) Error() string {
	return fmt.Sprintf("the token of server %s was used before, by another machine: an operator can let this one in (%s)",
		e.Server, AdmitCommand(e.Server, "--stack "+ShellWord(string(e.Deployment)), e.Key))
}

// AdmitCommand is what an operator types to let a machine in by its key; flags name the
// deployment.
func AdmitCommand(server contract.ServerPath, flags, key string) string {
	return fmt.Sprintf("hotc admit %s %s --key %s", ShellWord(string(server)), flags, key)
}

// ShellWord writes a text as one word of a POSIX shell.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:,@%+=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ParseApprovalRequests reads who asks. What no machine of ours has written is nobody.
func ParseApprovalRequests(data []byte) ApprovalRequests {
	var asking ApprovalRequests
	if err := json.Unmarshal(data, &asking); err != nil {
		return ApprovalRequests{}
	}
	asking.Machines = slices.DeleteFunc(asking.Machines, func(k ApprovalRequest) bool {
		return len(k.Instance) > mostOfInstance || seal.CheckPublic(k.Key) != nil
	})
	return ApprovalRequests{Machines: asking.Machines[:min(len(asking.Machines), mostAsking)]}
}

// With adds a machine, or says that it is still there. Those that have not been heard of
// for long leave their place; those that were there first keep it, even if no other is
// left. changed says that there is something to write.
func (r ApprovalRequests) With(own ApprovalRequest) (now ApprovalRequests, changed bool) {
	own.Instance = own.Instance[:min(len(own.Instance), mostOfInstance)]
	now.Machines = slices.DeleteFunc(slices.Clone(r.Machines), func(k ApprovalRequest) bool {
		return k.Key != own.Key && own.Seen.Sub(k.Seen).Abs() > staleRequest
	})
	at := slices.IndexFunc(now.Machines, func(k ApprovalRequest) bool { return k.Key == own.Key })
	switch {
	case at >= 0 && own.Seen.Sub(now.Machines[at].Seen).Abs() < askAgain:
		return r, false
	case at >= 0:
		now.Machines[at].Seen = own.Seen
	case len(now.Machines) == mostAsking:
		return r, false
	default:
		now.Machines = append(now.Machines, own)
	}
	return now, true
}
