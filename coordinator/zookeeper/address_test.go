package zookeeper

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		url   string
		hosts string
		root  string
	}{
		{"zk://a:1/hotc", "a:1", "/hotc"},
		{"zk://a/hotc", "a:2181", "/hotc"},
		{"zk://a:1,b,10.0.0.7:3/x/y/z", "a:1 b:2181 10.0.0.7:3", "/x/y/z"},
		{"zk+tls://a,b:1/hotc?ca=/etc/ca.pem&server_name=zk", "a:2281 b:1", "/hotc"},
		{"zk://[::1]:5,[fe80::1]/hotc", "[::1]:5 [fe80::1]:2181", "/hotc"},
	} {
		a, err := parse(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
		} else if !slices.Equal(a.hosts, strings.Fields(test.hosts)) || a.root != test.root {
			t.Errorf("%s: got %v", test.url, a)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"zk+tls://a/hotc?cert=x":     "cert and key must be used together",
		"zk+tls://a/hotc?colour=red": "unknown parameter \"colour\"",
		"zk+tls://a/hotc?ca=a&ca=b":  "needs one value",
		"zk+tls://a/hotc?ca=":        "needs one value",
		"zk+tls://a/hotc?ca=%zz":     "not KEY=VALUE",
		"zk+tls://a":                 "has no root",
		"http://a/hotc":              "a ZooKeeper URL is",
		"zk:///hotc":                 "has no host",
		"zk://a,/hotc":               "has no host",
		"zk://a:/hotc":               "no port",
		"zk://a:0/hotc":              "no port",
		"zk://a:65536/hotc":          "no port",
		"zk://a:http/hotc":           "no port",
		"zk://::1/hotc":              "in brackets",
		"zk://[a]/hotc":              "is not an IPv6 address",
		"zk://u@a:1/hotc":            "zk://…@a:1/hotc: a ZooKeeper URL has no user",
		"zk://u:hush/hush@a/hotc":    "zk://…@a/hotc: a ZooKeeper URL has no user",
		"zk://a:1":                   "has no root",
		"zk://a:1/":                  "has no root",
		"zk://a:1/hotc/":             "empty segment",
		"zk://a:1/../hotc":           "..",
		"zk://a:1/zookeeper/x":       "ZooKeeper's own",
		"zk://a:1/hotc#x":            "has a #",
		"zk://a:1/hotc?ca=hush.pem":  "zk://a:1/hotc: the parameters after ? are for TLS: use zk+tls://",
	} {
		_, err := parse(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
		var bad *store.URLError
		if !errors.As(err, &bad) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
