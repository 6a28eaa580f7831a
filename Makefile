# What CI runs. Works with GNU make and a POSIX shell; needs only Go.
#
#   make check        gofmt, go vet for every platform, staticcheck, go.mod
#   make test         all tests
#   make race         all tests, under the race detector (needs a C compiler)
#   make bench        all benchmarks             BENCH=regexp
#   make bench-peers  beside ONNX Runtime       PEERS=flags  (see bench/peers)
#   make neon         the kernels of arm64, under qemu-aarch64 (Debian: qemu-user)
#   make fuzz         every fuzz target in turn  FUZZTIME=60s
#   make mutate       damaged inputs of every form  N=50000 FIRST=0
#   make random       random programs on a target   N=1000 TARGET=all SEED=1
#   make conformance  the built command over the conformance cases
#   make parity       our tasks for H13 beside Apple's: three figures
#   make golden       rewrite the golden files; read the diff
#   make clean        remove what was built

GO       = go
BENCH    = .
PEERS    =
FUZZTIME = 60s
N        =
FIRST    = 0
TARGET   = all
SEED     = 1

PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: all check test race bench bench-peers neon fuzz mutate random conformance parity golden clean bin/espalier

all: check test

check:
	@echo 'gofmt -l .'
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then \
		echo "not formatted by gofmt:" >&2; echo "$$unformatted" >&2; exit 1; \
	fi
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; \
		echo "GOOS=$$os GOARCH=$$arch $(GO) vet ./..."; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) vet ./... || exit 1; \
	done
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	$(GO) mod tidy -diff

test:
	$(GO) test ./...

race:
	$(GO) test -race ./...

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# A module of its own: it loads the peer's shared library, which npm downloads.
bench-peers:
	cd bench/peers && $(GO) run . -isa all -parts all -results ../RESULTS.md $(PEERS)

neon:
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec qemu-aarch64 ./internal/kernel/... ./internal/strided/

# Finds the targets by their declarations, so that a new one joins by being
# written, and runs them all before it fails. A run passes when go test says ok,
# or when all it has to report is that the time was up: until Go 1.27, that may
# count as a failure (go.dev/issue/75804).
fuzz:
	@mkdir -p bin; failed=; \
	targets=$$(grep -r --include='*_test.go' '^func Fuzz' . | \
		sed -n 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9_]*\)(.*|\1:\2|p' | sort); \
	for target in $$targets; do \
		dir=$${target%:*}; name=$${target#*:}; \
		echo "$(GO) test -run '^$$' -fuzz '^$$name\$$' -fuzztime $(FUZZTIME) $$dir"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$dir" 2>&1 | tee bin/fuzz.log; \
		awk '/^ok / || (was && /^ *context deadline exceeded$$/) { good = 1 } \
			/Failing input written/ { bad = 1 } \
			{ was = /^--- FAIL: Fuzz/ } \
			END { exit bad || !good }' bin/fuzz.log || failed="$$failed $$target"; \
	done; \
	if [ -z "$$targets" ]; then echo 'no fuzz targets'; fi; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

# Mutations FIRST to FIRST+N-1 of every form of input, in child processes: one
# that panics, hangs or takes too much memory is reported, and the rest goes on.
mutate:
	ESPALIER_MUTATION=$(FIRST) ESPALIER_MUTATIONS=$(or $(N),50000) $(GO) test . -run '^TestMutations' -count=1 -timeout 0 -v

# A failure is printed as the smallest program that still fails, with its seed.
random:
	$(GO) test ./internal/compiler -count=1 -timeout 0 -v -run '^TestRandomTargets$$' \
		-random.count $(or $(N),1000) -random.targets $(TARGET) -random.seed $(SEED)

conformance: bin/espalier
	$(GO) run ./internal/conformance -espalier bin/espalier -report docs/conformance.md

# The figures are the three rows of the page that the test holds to.
parity:
	$(GO) test ./internal/encode/v7 -count=1
	@grep -E '^. (tasks counted|constant section|words outside)' docs/h13-parity.md

golden:
	ESPALIER_UPDATE=1 $(GO) test ./...

# Phony, since the go command knows best whether there is anything to build.
bin/espalier:
	CGO_ENABLED=0 $(GO) build -o bin/espalier ./cmd/espalier

clean:
	rm -rf bin
