# make check  what a change needs first: builds, vets, and runs all tests but those that ask stock Heat, ZooKeeper or the
#             tools, whose answers are recorded where they can be (CONTRIBUTING.md)
# make test   installs what the tests need and runs them all
# make e2e    deploys real stacks on this machine and breaks them: stock Heat, cloud-init, ZooKeeper (root; docs/bed.md);
#             a sixth of the scenarios, others at each run; SHARE=3 takes a third, ALL=1 all
# make sim    plays deployments in virtual time: DURATION=10m, SEEDS=n or SEED=n (docs/simulation.md)
# make mutations   breaks the program on purpose, in some dozen places: does a test notice? (docs/simulation.md)
# make soak   deploys generated programs on this machine with random faults (root): DURATION=10m, SEEDS=n or SEED=n; and
#             starts twenty ensembles of ZooKeeper, one after another
# make release   builds what is given away, for two architectures: VERSION=1.2.3
# make demo   runs a three-tier site on this machine
# make fuzz   looks for inputs that break what parses, FUZZTIME (1m) for each target, and for templates that break the compiler
# make bench  measures, as ratios against a peer in the same run (root, for the boot of a server)
.PHONY: all build agent release check test e2e sim mutations soak demo bench lint fuzz clean packages

GO ?= go
# Paths and cgo are parts of what the build cache goes by: what is set here once is compiled once, by the build, vet,
# staticcheck and the tests. The race detector needs cgo.
export GOFLAGS += -trimpath
export CGO_ENABLED := 0

all: build

# The agent is copied to every server: no symbols, no HTTP/2 (it fetches files and signals Heat), no inlining, no room on the
# stack for slices whose length is not known (20 kB), and functions that begin at any byte, which saves 235 kB on amd64.
AGENT = bin/hotc-agent
BUILD_AGENT = $(GO) build -tags nethttpomithttp2 -gcflags='all=-l -d=variablemakethreshold=0'
SMALL = -s -w -funcalign=1
build: agent
	$(GO) build -o bin/hotc ./cmd/hotc
	$(GO) build -o bin/hotc-bed ./cmd/hotc-bed

agent:
	$(BUILD_AGENT) -ldflags '$(SMALL)' -o $(AGENT) ./cmd/hotc-agent

# What is given away: a folder for each architecture with hotc and the agents, whose digests it knows; VERSION=1.2.3.
release:
	@test -n "$(VERSION)" || { echo "make release VERSION=1.2.3"; exit 2; }
	@set -eu; digests=; for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch $(BUILD_AGENT) -ldflags '$(SMALL) -X main.version=$(VERSION)' -o dist/$(VERSION)/hotc-agent-$$arch ./cmd/hotc-agent; \
		digests=$$digests,$$arch=$$(sha256sum dist/$(VERSION)/hotc-agent-$$arch | cut -d' ' -f1); \
	done; for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch $(GO) build -ldflags "-s -w -X main.version=$(VERSION) -X main.releasedAgents=$${digests#,}" -o dist/hotc-$(VERSION)-linux-$$arch/hotc ./cmd/hotc; \
		cp dist/$(VERSION)/hotc-agent-* dist/hotc-$(VERSION)-linux-$$arch/; \
	done; ls dist/*

demo: build
	@echo '$$ hotc run testdata/three-tier/site.yaml'
	@bin/hotc run testdata/three-tier/site.yaml

packages:
	@sh .ci/packages

# Tests write and sync thousands of files: in memory, if programs may run there.
check: export TMPDIR := $(or $(TMPDIR),$(shell x=$$(mktemp -p /dev/shm 2>&-) && chmod +x $$x && $$x && echo /dev/shm; rm -f $$x))
check:
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) test -short -vet=off -p $$(($$(nproc) + 1)) ./...

# Tests that generate their cases take new seeds at each run: FIRST=n repeats a run's (compiler/seedtest).
RACE = atexit_sleep_ms=0 suppressions=$(CURDIR)/coordinator/zookeeper/race.supp
test: export FIRST := $(or $(FIRST),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
test: packages build lint
	@echo "new seeds: FIRST=$(FIRST) make test takes the same ones again"
	@# Everything once, as a whole. lint has vetted the tests. One package more than there are cores: some, as
	@# coordinator/zookeeper, wait most of their time.
	sh .ci/summary $(GO) test -vet=off -p $$(($$(nproc) + 1)) -timeout 60m ./...
	@# Then the packages whose goroutines share memory under the race detector, which makes code five to twenty times slower:
	@# with few cases, and without Heat and the tools, which are other processes. It has every program sleep for a second at its
	@# end if it is not told otherwise. The client of ZooKeeper is tried with real servers here, too.
	CGO_ENABLED=1 GORACE="$(RACE)" sh .ci/summary $(GO) test -race -short -vet=off -p $$(($$(nproc) + 1)) -timeout 30m ./cmd/hotc-agent ./coordinator/... ./runtime/...
	CGO_ENABLED=1 GORACE="$(RACE)" sh .ci/summary $(GO) test -race -vet=off -timeout 30m ./coordinator/zookeeper
	@# go test keeps quiet about skipped tests of packages that pass
	@command -v chef-solo >/dev/null || echo "SKIPPED: the tests with a real Chef, for which there is no chef-solo on PATH; its stand-in was tried"
	@command -v salt-call >/dev/null || echo "SKIPPED: the tests with a real Salt, for which there is no salt-call on PATH; its stand-in was tried"
	@unshare -m true 2>/dev/null || echo "SKIPPED: the tests that need mounts of their own (root, outside of an unprivileged container): files whose opening waits, full disks, tools that are installed"
	@[ -z "$$HOTC_SKIP_HEAT" ] || echo "SKIPPED: what is compared with stock Heat, since HOTC_SKIP_HEAT is set"
	@[ -z "$$HOTC_SKIP_ZOOKEEPER" ] || echo "SKIPPED: what needs a ZooKeeper, if that is missing, since HOTC_SKIP_ZOOKEEPER is set"
	@[ -z "$$HOTC_SKIP_TOOLS" ] || echo "SKIPPED: what needs tools in user-data's tests, if they are missing, since HOTC_SKIP_TOOLS is set"

e2e: packages
	$(GO) vet -tags e2e ./emit/heat/bed
	$(GO) tool staticcheck -tags e2e ./emit/heat/bed
	scenarios=$$(GO="$(GO)" sh .ci/scenarios) && sh .ci/summary $(GO) test -tags e2e -count=1 -parallel 4 -timeout 90m -run "$$scenarios" ./emit/heat/bed

soak: export HOTC_SOAK := 1
soak: export DURATION := $(or $(DURATION),$(if $(SEED)$(SEEDS),,10m))
soak: packages
	$(GO) test -tags e2e -run '^TestSoak$$' -count=1 -v -timeout 0 ./emit/heat/bed
	@# a seed that is played again is about its deployment alone
	$(if $(SEED),,HOTC_FRESH_ENSEMBLES=20 $(GO) test -run '^TestFreshEnsembles$$' -count=1 -v -timeout 0 ./coordinator/zookeeper)

sim: export DURATION := $(or $(DURATION),$(if $(SEED)$(SEEDS),,10m))
sim:
	$(GO) test ./runtime/simulationtest -run '^TestSimulation$$' -count=1 -v -timeout 0
	@# a seed that is played again is one of TestSimulation
	$(if $(SEED),,DURATION=1m $(GO) test ./cmd/hotc -run '^TestAnalysisAgreesWithAgents$$' -count=1 -v -timeout 0)

mutations: export HOTC_MUTATIONS := 1
mutations:
	$(GO) test ./runtime/mutationtest -count=1 -v -timeout 0

fuzz: FUZZTIME ?= 1m
fuzz:
	DURATION=$(FUZZTIME) $(GO) test ./emit -run '^TestMutants$$' -count=1 -v -timeout 0
	@for package in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		for target in $$(cat $$package/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p'); do \
			echo "$$package $$target"; \
			$(GO) test ./$$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

lint:
	@unformatted=$$(gofmt -l cmd compiler analysis emit coordinator runtime docs); if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	git ls-files .ci '*.sh' ':!testdata' ':!*/testdata/*' ':!emit/userdata/parts' | xargs shellcheck -x
	git ls-files 'testdata/*.sh' | xargs shellcheck -e SC2154,SC2034 # inputs and outputs are variables

bench: packages build
	$(GO) test -run '^$$' -bench . -benchtime 1s -timeout 1h ./...
	$(GO) test -tags e2e -run '^$$' -bench . -benchtime 1x ./emit/heat/bed # as root

clean:
	rm -rf bin dist
