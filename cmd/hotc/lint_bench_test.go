package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ordinary is a template of about 200 lines of what templates are made of, with a number so
// that no two are alike.
func ordinary(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "heat_template_version: 2018-08-31\ndescription: the template number %d\nparameters:\n  image: {type: string, default: debian-12}\n", n)
	b.WriteString("  flavor:\n    type: string\n    default: m1.small\n    constraints:\n      - allowed_values: [m1.small, m1.large]\n  external: {type: string}\nresources:\n")
	b.WriteString("  net:\n    type: OS::Neutron::Net\n  subnet:\n    type: OS::Neutron::Subnet\n    properties:\n      network: {get_resource: net}\n      cidr: 10.0.0.0/24\n")
	for i := 0; strings.Count(b.String(), "\n") < 190; i++ {
		fmt.Fprintf(&b, `  # the server %[1]d of template %[2]d
  port_%[1]d:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      fixed_ips:
        - subnet: {get_resource: subnet}
          ip_address: 10.0.0.%[3]d
  volume_%[1]d:
    type: OS::Cinder::Volume
    properties:
      size: %[3]d
      name:
        str_replace:
          template: data-$stack-%[1]d
          params: {$stack: {get_param: "OS::stack_name"}}
  server_%[1]d:
    type: OS::Nova::Server
    properties:
      image: {get_param: image}
      flavor: {get_param: flavor}
      networks:
        - port: {get_resource: port_%[1]d}
      user_data: |
        #!/bin/sh
        echo "%[2]d" > /run/number
        mkdir -p /srv/data
  attached_%[1]d:
    type: OS::Cinder::VolumeAttachment
    properties:
      instance_uuid: {get_resource: server_%[1]d}
      volume_id: {get_resource: volume_%[1]d}
`, i, n, i+10)
	}
	b.WriteString("outputs:\n  address:\n    value: {get_attr: [server_0, first_address]}\n  net:\n    value: {get_resource: net}\n")
	return b.String()
}

// took is how long a command took, by the clock and by the processor, and its memory.
type took struct {
	wall, cpu time.Duration
	memory    int64
}

func timed(b *testing.B, dir, name string, args ...string) took {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(start)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 || cmd.ProcessState.ExitCode() < 0 {
		b.Fatalf("%s: %v: %s", name, err, out)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return took{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10}
}

// BenchmarkLint looks at 250 files of 200 lines, and at one of a megabyte, in a new process
// each time (emit/lint compares with yamllint).
func BenchmarkLint(b *testing.B) {
	hotc := binary(b, "hotc")
	folder := func(files int) string {
		dir := b.TempDir()
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("t%04d.yaml", i)), []byte(ordinary(i)), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		return dir
	}
	report := func(b *testing.B, t took) {
		b.ReportMetric(t.wall.Seconds()*1000, "ms")
		b.ReportMetric(t.cpu.Seconds()*1000, "cpu-ms")
		b.ReportMetric(float64(t.memory)/(1<<20), "MiB")
	}
	b.Run("250 files", func(b *testing.B) {
		dir := folder(250)
		for b.Loop() {
			report(b, timed(b, dir, hotc, "lint", "."))
		}
	})
	b.Run("1 MB", func(b *testing.B) {
		dir := b.TempDir()
		one := ordinary(1)
		head, rest, _ := strings.Cut(one, "  # the server 0")
		body, tail, _ := strings.Cut("  # the server 0"+rest, "outputs:")
		var text strings.Builder
		text.WriteString(head)
		for i := 0; text.Len() < 1<<20; i++ {
			number := strings.NewReplacer("port_", fmt.Sprintf("port_%d_", i), "server_", fmt.Sprintf("server_%d_", i), "volume_id", "volume_id",
				"volume_", fmt.Sprintf("volume_%d_", i), "attached_", fmt.Sprintf("attached_%d_", i))
			text.WriteString(number.Replace(body))
		}
		text.WriteString("outputs:" + strings.ReplaceAll(tail, "server_0", "server_0_0"))
		if err := os.WriteFile(filepath.Join(dir, "large.yaml"), []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			report(b, timed(b, dir, hotc, "lint", "--limit", "resources=1000000", "--limit", "template=10000000", "--fail-on", "never", "large.yaml"))
		}
	})
}
