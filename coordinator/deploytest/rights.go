package deploytest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// ExpectRights tries to read a node and to write back its data.
func ExpectRights(t *testing.T, who string, s store.Session, path store.Path, reads, writes bool) {
	t.Helper()
	_, err := s.Read(t.Context(), path)
	Expect(t, who+" reads "+string(path), reads, err)
	data := []byte("{}")
	if strings.Contains(string(path), "/cells/") {
		data = []byte(`{"state":"empty"}`)
	}
	if writes {
		return // covered by the protocol's tests; here it would change the deployment
	}
	err = s.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: data})
	Expect(t, who+" writes "+string(path), false, err)
}

func Expect(t *testing.T, what string, allowed bool, err error) {
	t.Helper()
	switch {
	case allowed && err != nil:
		t.Errorf("%s: %v", what, err)
	case !allowed && !errors.Is(err, store.ErrRefused):
		t.Errorf("%s: %v, want ErrRefused", what, err)
	}
}

func CreateChild(ctx context.Context, s store.Session, parent store.Path) error {
	return s.Create(ctx, []store.NewNode{{Path: parent.Join("extra")}})
}
