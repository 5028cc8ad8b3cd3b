// Package userdata renders the user-data of hotc's servers.
//
// All servers of a deployment share one file, which the emitted template reads with get_file and
// completes with str_replace: a MIME archive whose last part is a shell script that starts the
// server's agent, and whose first part, where the user has one, is his own user-data. What differs
// between servers is in two placeholders, the boot file's JSON and the agent's URL. Heat splits
// only the file's text at the placeholders and joins it with the values
// (heat.engine.hot.functions.Replace), so nothing in a value is taken for a placeholder, and a map
// is inserted as JSON of one line in ASCII (ReplaceJson), which no quoted here-document and no MIME
// boundary can mistake.
//
// # The user's own part
//
// cloud-init detects a text's type by its first line, also for a part of type text/plain
// (cloudinit.user_data.UserDataProcessor._process_msg). But it reads an archive as text and then
// decodes a part's payload as if that were ASCII (email.message.Message.get_payload): "é"
// becomes a byte that is not UTF-8, "€" becomes the six characters \u20ac, and a cloud-config
// with an accent in a comment is ignored as a whole. So a text with such characters is inserted
// as quoted-printable, and Heat does the quoting: a second str_replace maps each such character
// to its quoted form (see Quotes), which works for any expression. The user's own archive
// (OS::Heat::MultipartMime creates one) is not a part of type text/plain: its own header becomes
// the header of the part.
package userdata

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The keys of str_replace's params in the emitted template. Each occurs once in the file.
const (
	BootKey     = "$hotc_boot$"      // a map: Heat inserts it as JSON
	AgentURLKey = "$hotc_agent_url$" // a string; {arch} in it is replaced by amd64, arm64, …
	UserKey     = "$hotc_user$"      // the user's own user-data, for files with one
)

// Boundary separates the parts; a user's text must not contain it.
const Boundary = "==hotc-5d0c1c2a=="

// BootFile and Start are paths on the server.
const (
	BootFile = "/etc/hotc/boot.json"
	Start    = "/etc/hotc/start"
)

// Arch is a processor architecture as in Go (GOARCH).
type Arch string

// Options are facts about the deployment for the file.
type Options struct {
	// AgentDigests are the agent's sha256 in hex, by architecture. An agent is downloaded only
	// for a listed architecture; an agent in the image must match, too, if its architecture is
	// listed.
	AgentDigests map[Arch]string
	// Servers is how many may boot at once and fetch the agent from the coordinator: they wait
	// for a random time.
	Servers int
}

// Servers fetch the agent from the coordinator at this total rate on average, which leaves most
// of a ZooKeeper's network to those that have started.
const agentsPerSecond = 10

//go:embed parts
var parts embed.FS

// File returns the shared file for servers with this kind of user-data of their own. The same
// arguments give the same bytes.
func File(own Own, o Options) ([]byte, error) {
	if own == CfnTools {
		return script(o)
	}
	install, err := install(o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=%q\nMIME-Version: 1.0\n", Boundary)
	if header, ok := own.header(); ok {
		// the line break before a boundary belongs to the boundary (RFC 2046, 5.1.1)
		fmt.Fprintf(&b, "\n--%s\n%s%s", Boundary, header, UserKey)
	}
	// `cloud-init schema --system` (22.4) fails without any cloud-config
	part(&b, "cloud-config", "hotc", "#cloud-config\n{}")
	part(&b, "x-shellscript", "00-hotc", install)
	fmt.Fprintf(&b, "\n--%s--\n", Boundary)
	return b.Bytes(), nil
}

func part(b *bytes.Buffer, subtype, name, text string) {
	fmt.Fprintf(b, "\n--%s\nContent-Type: text/%s; charset=\"us-ascii\"\n"+
		"Content-Disposition: attachment; filename=%q\n\n%s", Boundary, subtype, name, text)
}

// CheckDigest validates the agent's digest for an architecture.
func CheckDigest(arch Arch, digest string) error {
	if sum, err := hex.DecodeString(digest); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("the agent's digest for %s is not a sha256 in hex: %q", arch, digest)
	}
	if arch == "" || strings.Trim(string(arch), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("%q is not an architecture", arch)
	}
	return nil
}

// urlSchemes are supported by every tool that a server may fetch the agent with
// (parts/start.sh).
var urlSchemes = []string{"http", "https", "ftp"}

// CheckURL validates a URL of the agent.
func CheckURL(text string) error {
	u, err := url.Parse(strings.ReplaceAll(text, "{arch}", "amd64"))
	switch {
	case err != nil || !slices.Contains(urlSchemes, u.Scheme) || u.Host == "":
		return fmt.Errorf("%q is not a URL that a server can fetch: use http://, https:// or ftp:// with a host", text)
	case strings.ContainsAny(u.Path, "{}"):
		return fmt.Errorf("%q: only {arch} is replaced, by amd64, arm64, …", text)
	}
	return nil
}

// install returns the shell part, including the other pieces.
func install(o Options) (string, error) {
	var digests strings.Builder
	for i, arch := range slices.Sorted(maps.Keys(o.AgentDigests)) {
		digest := o.AgentDigests[arch]
		if err := CheckDigest(arch, digest); err != nil {
			return "", err
		}
		if i > 0 {
			digests.WriteByte('\n')
		}
		fmt.Fprintf(&digests, "%s) sum=%s ;;", arch, strings.ToLower(digest))
	}
	start := piece("start.sh", map[string]string{"@tell.py@": piece("tell.py", nil), "@fetch.py@": piece("fetch.py", nil), "@digests@": digests.String()})
	start = strings.Replace(start, "@spread@", strconv.Itoa(o.Servers/agentsPerSecond), 1)
	return piece("install.sh", map[string]string{"@start.sh@": start, "@hotc-agent.service@": piece("hotc-agent.service", nil)}), nil
}

// piece returns a file of parts/ without its comments, to keep user-data short. Lines of the
// form @NAME@ are replaced by other pieces.
func piece(name string, inner map[string]string) string {
	text, err := parts.ReadFile("parts/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	var kept []string
	for line := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n") {
		bare := strings.TrimLeft(line, " ")
		replacement, isName := inner[bare]
		switch {
		case isName && replacement == "", bare == "":
		case isName:
			kept = append(kept, replacement)
		case strings.HasPrefix(bare, "#") && !strings.HasPrefix(bare, "#!") && !strings.HasPrefix(bare, "# hotc:"):
		default:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// Base64Limit is Nova's limit for user-data after base64, in bytes
// (nova.api.openstack.compute.schemas.servers, user_data's maxLength).
const Base64Limit = 65535

// Base64Size returns the size of so many bytes after Heat has encoded them.
func Base64Size(raw int) int { return (raw + 2) / 3 * 4 }

// ownEnd ends the user's own text in the script for HEAT_CFNTOOLS.
const ownEnd = "==hotc-own-5d0c1c2a=="

// CheckScript returns why a text cannot be in the script for HEAT_CFNTOOLS.
func CheckScript(static string) error {
	if strings.Contains(static, ownEnd) {
		return fmt.Errorf("contains %q, which ends it in hotc's own user-data", ownEnd)
	}
	return nil
}

// script returns the file for servers whose user_data is run by Heat's cfntools: Heat writes it
// to /var/lib/heat-cfntools/cfn-userdata and runs that (heat/cloudinit, part_handler.py and
// loguserdata.py). It installs what hotc needs, puts the user's text in place of itself, and
// execs that.
func script(o Options) ([]byte, error) {
	install, err := install(o)
	if err != nil {
		return nil, err
	}
	return []byte(piece("cfntools.sh", map[string]string{"@install.sh@": strings.TrimPrefix(install, "#!/bin/sh\n")}) + "\n"), nil
}
