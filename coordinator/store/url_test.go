package store_test

import (
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
)

func TestShownURL(t *testing.T) {
	for url, want := range map[string]string{
		"zk://zk1:2181,zk2/hotc":                 "zk://zk1:2181,zk2/hotc",
		"zk+tls://zk1/hotc?ca=der:MIIB.MIIC":     "zk+tls://zk1/hotc",
		"zk+tls://zk1/hotc?key=/root/k.pem?":     "zk+tls://zk1/hotc",
		"zk://user:pass/w@rd@zk1:2181/hotc?ca=x": "zk://…@zk1:2181/hotc",
		"user:password@zk1":                      "…@zk1",
		"unix:///run/a@b?c":                      "unix:///run/a@b?c",
		"":                                       "",
	} {
		if got := store.ShownURL(url); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
	}
	err := &store.URLError{URL: "zk://u:secret@a/hotc?ca=x", Err: errors.ErrUnsupported}
	if got := err.Error(); got != "zk://…@a/hotc: unsupported operation" || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the error says %q", got)
	}
}
