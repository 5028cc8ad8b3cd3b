package rule

import (
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
)

// What types require of single values in their validate(), beyond their tables.

func notNegative(v value.Value) bool { return atLeast(v, 0) }

func isVLAN(v value.Value) bool { return !atLeast(v, 4095) }

func atLeast(v value.Value, least int64) bool {
	number, _ := value.Integer(v)
	n, is := number.(int64)
	return is && n >= least
}

func atMostOne(v value.Value) bool {
	list, is := v.([]value.Value)
	return !is || len(list) < 2
}

var duration = regexp.MustCompile(`^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?\n?$`)

const anHour = "at most an hour, written like PT5M"

// atMostAnHour parses a duration as Heat does (heat/common/timeutils.py,
// parse_isoduration).
func atMostAnHour(v value.Value) bool {
	m := duration.FindStringSubmatch(value.ToString(v))
	if m == nil {
		return false
	}
	seconds := 0.0
	for i, unit := range []float64{3600, 60, 1} {
		n, _ := strconv.ParseFloat(m[i+1], 64) // "" is 0
		seconds += n * unit
	}
	return seconds <= 3600
}

// isBase64 is Python's b64decode, which skips characters that are not base64.
func isBase64(v value.Value) bool {
	text := strings.Map(func(r rune) rune {
		if r > 0x7f || strings.ContainsRune("+/=", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, value.ToString(v))
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil || strings.Contains(strings.TrimRight(text, "="), "=") // Python ignores what follows padding
}

func isWebAddress(v value.Value) bool {
	scheme, rest, _ := strings.Cut(value.ToString(v), "://")
	host, _, _ := strings.Cut(rest, "/")
	return slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)) && host != ""
}

var mailAddress = regexp.MustCompile(`^\S+@\S+\n?$`)

func isMailAddress(v value.Value) bool { return mailAddress.MatchString(value.ToString(v)) }

// olderAddress is an IPv4 address of one to four numbers, which oslo_utils (netutils.py, is_valid_ipv4) takes.
var olderAddress = regexp.MustCompile(`^[0-9a-fA-FxX]+(\.[0-9a-fA-FxX]+){0,3}$`)

func isGateway(v value.Value) bool {
	_, err := netip.ParseAddr(value.ToString(v))
	return err == nil || v == "~" || olderAddress.MatchString(value.ToString(v))
}

var internalBinary = regexp.MustCompile(`^internal-db://\{?[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?$`)

func isJobLocation(v value.Value) bool {
	text := value.ToString(v)
	return strings.HasPrefix(text, "swift://") || internalBinary.MatchString(text)
}

func isSubscriber(v value.Value) bool {
	kind, _, _ := strings.Cut(value.ToString(v), ":")
	return slices.Contains([]string{"http", "https", "mailto", "trust+http", "trust+https"}, kind)
}

func isRestartPolicy(v value.Value) bool {
	policy, _, counted := strings.Cut(value.ToString(v), ":")
	return policy == "on-failure" || !counted && slices.Contains([]string{"always", "unless-stopped", "no"}, policy)
}
