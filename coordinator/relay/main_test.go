package relay_test

import (
	"testing"

	"github.com/hotc-dev/hotc/coordinator/deploytest"
)

func TestMain(m *testing.M) { deploytest.Main(m) }
