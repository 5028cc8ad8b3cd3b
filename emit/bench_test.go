package emit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// manyServers is a template of n servers, each with five references to others.
func manyServers(n int) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nparameters:\n  image: {type: string, default: debian-12}\n  name: {type: string, default: blog}\nresources:\n")
	for i := range n {
		other := func(d int) int { return (i + d) % n }
		fmt.Fprintf(&b, `  server%d:
    type: OS::Nova::Server
    properties:
      image: {get_param: image}
      flavor: m1.small
      networks: [{network: private}]
    metadata:
      hotc:
        roles:
          - name: app
            driver: script
            source: echo 80 | hotc-agent put port; hotc-agent get url; hotc-agent get left; hotc-agent get right; echo "$name"
            inputs:
              name: {get_param: name}
              left: {get_attr: [server%d, first_address]}
              right: {get_resource: server%d}
              url:
                str_replace:
                  template: http://$host:$port/
                  params:
                    $host: {get_attr: [server%d, first_address]}
                    $port: {get_attr: [server%d, port]}
            outputs:
              port: {type: number}
`, i, other(1), other(2), other(3), other(4))
	}
	return b.String()
}

func writeMany(b *testing.B, n int) string {
	path := filepath.Join(b.TempDir(), "many.yaml")
	if err := os.WriteFile(path, []byte(manyServers(n)), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

func manyOptions(path string) emit.Options {
	o := options(path)
	o.Limits = emit.Limits{Template: 1 << 30, Resources: 1 << 30, UserData: 65535}
	return o
}

// BenchmarkCompile prints, besides the time, the ratio to the YAML library's bare
// decoding of the same text to nodes: the processor's time of both, all threads
// together, in turns, so that what else the machine does has little part in it.
func BenchmarkCompile(b *testing.B) {
	before := debug.SetGCPercent(800) // as cmd/hotc sets it up to the first collection
	defer debug.SetGCPercent(before)
	for _, n := range []int{10, 100, 1000, 10000} {
		path := writeMany(b, n)
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("servers=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ours, theirs time.Duration
			for b.Loop() {
				ours += processorTime(b, func() {
					var diags source.Diagnostics
					if emit.Compile(manyOptions(path), &diags) == nil {
						b.Fatal(diags.All()[0])
					}
				})
				b.StopTimer()
				theirs += processorTime(b, func() { bareDecode(b, text) })
				b.StartTimer()
			}
			b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-yaml-decode")
			b.ReportMetric(float64(ours.Microseconds())/float64(b.N*n), "cpu-µs/server")
		})
	}
}

// processorTime is what some work takes of all processors.
func processorTime(b *testing.B, work func()) time.Duration {
	before := usedTime(b)
	work()
	return usedTime(b) - before
}

func usedTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// bareDecode reads the text with the YAML library alone.
func bareDecode(b *testing.B, text []byte) {
	b.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		b.Fatal(err)
	}
}
