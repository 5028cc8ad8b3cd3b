package lint_test

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/emit/lint"
)

// What shellcheck finds in a script is found where that stands: in the template, through
// str_replace and an archive, and in a file. What it says of a word that Heat puts in is not.
func TestShellcheck(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("NOT ASKED: shellcheck, which is not installed: apt-get install shellcheck")
	}
	files(t, map[string]string{
		"setup.sh": "#!/bin/bash\nset -e\n\techo \"ä\" $1\n",
		"site.yaml": `heat_template_version: 2018-08-31
resources:
  file:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, user_data_format: RAW, user_data: {get_file: setup.sh}}
  text:
    type: OS::Nova::Server
    properties:
      image: i
      flavor: f
      user_data_format: RAW
      user_data:
        str_replace:
          template: |
            #!/bin/sh
            [ $mode = "fast" ] && rm $1
            cd /srv
            rm -r $2
            . /etc/os-release
          params: {$mode: fast}
  python:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, user_data_format: RAW, user_data: "#!/usr/bin/python3\nprint $1\n"}
`})
	want := []string{
		`setup.sh:3:11: info[H255]: shellcheck: Double quote to prevent globbing and word splitting (SC2086)`,
		`site.yaml:17:13: warning[H255]: shellcheck: Use 'cd ... || exit' or 'cd ... || return' in case cd fails (SC2164)`,
		`site.yaml:18:19: info[H255]: shellcheck: Double quote to prevent globbing and word splitting (SC2086)`,
	}
	o := wishes()
	if o.Compile.Shell = lint.Shellcheck(t.Context()); o.Compile.Shell == nil {
		t.Fatal("it was there")
	}
	if diff := cmp.Diff(want, found(t, o, "site.yaml")); diff != "" {
		t.Error(diff)
	}
	if without := found(t, wishes(), "site.yaml"); len(without) > 0 {
		t.Errorf("nobody has asked for %v", without)
	}
}
