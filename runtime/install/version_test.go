package install

import "testing"

func TestVersionsThatToolsPrint(t *testing.T) {
	for printed, want := range map[string]string{
		"7.23.0\n": "7.23.0",
		"ansible-playbook [core 2.14.18]\n  config file = None\n  python version = 3.11.2": "2.14.18",
		"Cinc Client: 18.4.12":      "18.4.12",
		"salt-call 3006.1 (Sulfur)": "3006.1",
		"salt-call 3006":            "3006",
		"no version at all":         "",
	} {
		if got := versionIn(printed); got != want {
			t.Errorf("%q: %q, want %q", printed, got, want)
		}
	}
}

func TestVersionsThatFit(t *testing.T) {
	for _, c := range []struct {
		version, want string
		fits          bool
	}{
		{"", "", true}, {"7.23.0", "", true}, {"", "7", false},
		{"7.23.0", "7", true}, {"7.23.0", "7.23", true}, {"7.23.0", "7.23.0", true},
		{"7.23.0", "7.2", false}, {"7.23.0", "7.23.0.1", false}, {"8.1", "7", false},
		{"7.23.0", ">=7.2", true}, {"7.23.0", ">= 7.23", true}, {"7.23.0", ">=7.24", false}, {"10.0", ">=9.9", true},
		{"2.14rc1", "2.14", false},
	} {
		if got := fits(c.version, c.want); got != c.fits {
			t.Errorf("%s for %q: %v", c.version, c.want, got)
		}
	}
}

func TestVersionsOfGems(t *testing.T) {
	for want, gem := range map[string]string{"18": "~> 18.0", "18.4": "~> 18.4.0", ">=18.4": ">= 18.4"} {
		if got := gemVersion(want); got != gem {
			t.Errorf("%s: %s", want, got)
		}
	}
}
