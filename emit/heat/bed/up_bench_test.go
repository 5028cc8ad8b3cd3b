//go:build e2e

package bed_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkUp brings the three-tier site up with `hotc up` and by hand, one after the other: the
// separate commands and `openstack stack create --wait`. by-hand-% is what `hotc up` takes of
// that time.
func BenchmarkUp(b *testing.B) {
	o := newOperator(b)
	const pairs = 5
	var took [2][]float64
	for i := range b.N * pairs {
		for k := range 2 {
			k := (k + i) % 2
			stack := fmt.Sprintf("bench%d-%d", i, k)
			began := time.Now()
			if k == 0 {
				o.expect(0, up(examples+"three-tier/site.yaml", stack))
			} else {
				o.byHand(stack)
			}
			took[k] = append(took[k], time.Since(began).Seconds())
			o.removeByHand(stack)
		}
	}
	for k := range took {
		slices.Sort(took[k])
	}
	one, hand := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(one, "s-up")
	b.ReportMetric(100*one/hand, "by-hand-%")
	b.ReportMetric(0, "ns/op")
}

// byHand does what `hotc up` does by the separate commands and the openstack client.
func (o *operator) byHand(stack string) {
	o.t.Helper()
	dir := o.t.TempDir()
	secret, made := filepath.Join(dir, "secret"), filepath.Join(dir, "made")
	o.expect(0, []string{"secret", "new", secret})
	o.expect(0, []string{"compile", examples + "three-tier/site.yaml", "-o", made})
	o.expect(0, []string{"apply", made, "--stack", stack, "--secret-file", secret})
	cmd := exec.Command("openstack", "stack", "create", "-t", filepath.Join(made, "stack.yaml"), "-e", secret+".env.yaml", "--wait", "--poll", "1", stack)
	cmd.Env = o.env
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Fatalf("openstack: %v: %s", err, out)
	}
	o.env = append(o.env, "HOTC_SECRET_FILE="+secret)
}

func (o *operator) removeByHand(stack string) {
	o.t.Helper()
	o.expect(0, []string{"down", stack, "--yes"}, "is gone")
	o.env = append(o.env, "HOTC_SECRET_FILE=")
}
