package hot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// make_url (heat/engine/hot/functions.py: MakeURL, with Python's urllib.parse).

var makeURL = &Function{Name: "make_url", Gives: contract.String, Check: checkURL, Apply: applyURL}

var urlParts = []string{"scheme", "username", "password", "host", "port", "path", "query", "fragment"}

func checkURL(arg *Expr) error {
	if !arg.isMap() {
		return wants("make_url", "a map of the URL's parts", arg)
	}
	keys := arg.Keys
	if d, ok := arg.Value.(*value.Dict); ok {
		keys = d.Keys()
	}
	for _, k := range keys {
		if !slices.Contains(urlParts, k) {
			return fmt.Errorf("make_url: unknown part %q; the parts are %s", k, strings.Join(urlParts, ", "))
		}
	}
	for _, part := range urlParts {
		x, ok := arg.entry(part)
		if !ok || x.Kind == CallExpr {
			if ok && part == "query" {
				return nil // Heat checks no further either
			}
			continue
		}
		if part == "query" {
			if !x.isMap() {
				return wants("make_url: query", "a map", x)
			}
			return nil
		}
		if x.Kind != ValueExpr {
			return wants("make_url: "+part, "a string", x)
		}
		if err := checkURLPart(part, x.Value); err != nil {
			return err
		}
	}
	return nil
}

func checkURLPart(part string, v value.Value) error {
	if part != "port" {
		if _, ok := v.(string); !ok {
			return fmt.Errorf("make_url: %s must be a string, not %s", part, value.TypeName(v))
		}
		return nil
	}
	n, ok := value.Integer(v)
	if !ok {
		return fmt.Errorf("make_url: port must be a number, not %s", shown(v))
	}
	if port, ok := n.(int64); !ok || port < 1 || port > 65535 {
		return fmt.Errorf("make_url: port %s is not from 1 to 65535", value.ToString(n))
	}
	return nil
}

func applyURL(w *work, arg value.Value) (value.Value, error) {
	args := arg.(*value.Dict)
	text := map[string]string{}
	for _, part := range urlParts {
		v, ok := args.Get(part)
		switch {
		case !ok:
		case part == "query":
			if _, isMap := v.(*value.Dict); !isMap {
				return nil, fmt.Errorf("make_url: query must be a map, not %s", value.TypeName(v))
			}
		default:
			if err := checkURLPart(part, v); err != nil {
				return nil, err
			}
			if text[part] = value.ToString(v); part == "port" && !value.Truthy(v) {
				text[part] = ""
			}
		}
	}
	if strings.Contains(text["scheme"], ":") {
		return nil, fmt.Errorf("make_url: scheme must not contain a colon")
	}
	query := ""
	if d, ok := args.At("query").(*value.Dict); ok {
		query = urlQuery(d)
	}
	url := joinURL(text["scheme"], urlAuthority(text), quoteURL(text["path"], "/"), query, quoteURL(text["fragment"], "/"))
	return url, w.spend(len(url))
}

func urlAuthority(text map[string]string) string {
	var b strings.Builder
	username, password := quoteURL(text["username"], ""), quoteURL(text["password"], "")
	if username != "" || password != "" {
		if b.WriteString(username); password != "" {
			b.WriteString(":" + password)
		}
		b.WriteByte('@')
	}
	host := text["host"]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = strings.TrimSuffix(host[1:], "]")
	}
	if host = quoteURL(host, ":"); strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if b.WriteString(host); text["port"] != "" {
		b.WriteString(":" + text["port"])
	}
	return b.String()
}

// urlQuery is urllib.parse.urlencode, with slashes left alone.
func urlQuery(d *value.Dict) string {
	pairs := lists.Map(d.Keys(), func(k string) string { return quotePlus(k) + "=" + quotePlus(value.ToString(d.At(k))) })
	return strings.ReplaceAll(strings.Join(pairs, "&"), "%2F", "/")
}

func quotePlus(s string) string { return strings.ReplaceAll(quoteURL(s, " "), " ", "+") }

// quoteURL is urllib.parse.quote: all bytes but letters, digits, _.-~ and the safe
// ones become %XX.
func quoteURL(s, safe string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '_', c == '.', c == '-', c == '~', strings.IndexByte(safe, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// schemesWithAuthority are the schemes that get // even without a host
// (urllib.parse.uses_netloc).
var schemesWithAuthority = []string{"", "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https",
	"shttp", "snews", "prospero", "rtsp", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git", "git+ssh", "ws", "wss"}

// joinURL is urllib.parse.urlunsplit.
func joinURL(scheme, authority, path, query, fragment string) string {
	url := path
	if authority != "" || scheme != "" && slices.Contains(schemesWithAuthority, scheme) && !strings.HasPrefix(path, "//") {
		if url != "" && url[0] != '/' {
			url = "/" + url
		}
		url = "//" + authority + url
	}
	if scheme != "" {
		url = scheme + ":" + url
	}
	if query != "" {
		url += "?" + query
	}
	if fragment != "" {
		url += "#" + fragment
	}
	return url
}
