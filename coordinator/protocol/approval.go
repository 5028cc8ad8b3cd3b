package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// A machine whose server's token was used before asks for approval: it adds its request to those of
// other machines, and waits until an operator admits it. Our agents keep the requests that they
// find. But anyone with the token can write anything there, so a request only shows operators who
// asks: they admit a machine by the public key on its console, whatever is written here.

// ApprovalRequest is what a machine whose token was used before says of itself.
type ApprovalRequest struct {
	Instance string    `json:"instance,omitempty"` // Nova's instance id
	Key      string    `json:"key,omitempty"`      // its public key, in base64
	Since    time.Time `json:"since,omitzero"`     // when it asked first
	Seen     time.Time `json:"seen,omitzero"`      // and last
}

// ApprovalRequests are the machines that ask to become one server, in the order of arrival.
type ApprovalRequests struct {
	Machines []ApprovalRequest `json:"machines,omitempty"`
}

const (
	// mostAsking bounds the requests per server.
	mostAsking = 8
	// mostOfInstance bounds the length of an instance's id.
	mostOfInstance = 128
	// A machine renews its request every askAgain; one that was not renewed for staleRequest gives its
	// place to another when all are taken.
	askAgain, staleRequest = 10 * time.Minute, time.Hour
)

// TokenUsedError says that another machine has used this server's token before.
type TokenUsedError struct {
	Deployment Deployment
	Server     contract.ServerPath
	Key        string // this machine's, the public half
}

func (e *TokenUsedError) Error() string {
	admit := fmt.Sprintf("hotc admit %s %s --key %s", ShellWord(string(e.Deployment)), ShellWord(string(e.Server)), e.Key)
	return fmt.Sprintf("the token of server %s was used before, by another machine: an operator can admit this one (%s)",
		e.Server, admit)
}

// ShellWord quotes a string as one word of a POSIX shell.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:,@%+=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ParseApprovalRequests reads the requests, and drops those that no agent of ours has written.
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

// With adds a machine's request, or renews it. The others keep their place; only if none is left are
// expired requests dropped. changed reports whether there is something to
// write.
func (r ApprovalRequests) With(own ApprovalRequest) (now ApprovalRequests, changed bool) {
	own.Instance = own.Instance[:min(len(own.Instance), mostOfInstance)]
	now.Machines = slices.Clone(r.Machines)
	at := slices.IndexFunc(now.Machines, func(k ApprovalRequest) bool { return k.Key == own.Key })
	if at < 0 && len(now.Machines) == mostAsking { // machines' clocks may differ: none takes a place while one is free
		now.Machines = slices.DeleteFunc(now.Machines, func(k ApprovalRequest) bool { return own.Seen.Sub(k.Seen).Abs() > staleRequest })
	}
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
