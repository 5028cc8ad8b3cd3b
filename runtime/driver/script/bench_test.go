package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// BenchmarkRead prints what a read costs that does not block: the first one of a
// variable, whose value has arrived, and a later one; beside a script whose values are
// in its environment. Time is that of the processor, which other work on the machine does
// not change.
func BenchmarkRead(b *testing.B) {
	const inputs = 500
	for _, shell := range []string{"dash", "bash"} {
		for _, again := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/again=%v", shell, again), func(b *testing.B) {
				s := script.Shell{Folder: b.TempDir(), Inputs: map[string]string{}}
				env := []string{"PATH=" + os.Getenv("PATH"), "hotc_shell=" + filepath.Join(s.Folder, "shell")}
				var bare, waiting strings.Builder
				waiting.WriteString(`. "$hotc_shell"; `)
				for i := range inputs {
					name := fmt.Sprintf("in%d", i)
					s.Inputs[name] = name
					env = append(env, name+"=value")
				}
				if err := s.Write(); err != nil {
					b.Fatal(err)
				}
				for i := range inputs {
					name := fmt.Sprintf("in%d", i)
					if err := s.Arrive(name, []byte(`"value"`)); err != nil {
						b.Fatal(err)
					}
					if again {
						name = "in0"
					}
					fmt.Fprintf(&bare, ": \"$%s\"\n", name)
					fmt.Fprintf(&waiting, "{ hotc_await %s && :; } 2>/dev/null; : \"$%s\"\n", name, name)
				}
				run := func(text string, env []string) time.Duration {
					cmd := exec.Command(shell, "-c", text)
					cmd.Env = env
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
					return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				}
				var ours, peer time.Duration
				for b.Loop() {
					ours += run(waiting.String(), env[:2])
					peer += run(bare.String(), env)
				}
				b.ReportMetric((ours-peer).Seconds()/float64(b.N)/inputs*1e6, "µs/read")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
