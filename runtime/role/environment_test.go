package role

import (
	"slices"
	"testing"
)

func TestARolesEnvironment(t *testing.T) {
	own := map[string]string{"HOTC_ROLE": "mysql"}
	got := environment([]string{"LANG=C", "HOME=/home/x", "PATH=/opt/bin", "HOTC_ROLE=outer", "HOTC_X=1", "heat_outputs_path=/x", "hotc_inputs=/y"}, "/run/bin", own)
	want := []string{"LANG=C", "PATH=/run/bin:/opt/bin", "HOME=/home/x", "HOTC_ROLE=mysql"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	bare := environment(nil, "/run/bin", own)
	if bare[0] != "PATH=/run/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" || bare[1] == "HOME=" {
		t.Errorf("without any: %q", bare)
	}
}
