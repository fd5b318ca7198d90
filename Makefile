# Everything a newcomer and CI need. "make help" lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
SEEDS   ?= 500
SAMPLE  ?= 0
PARALLEL ?= 2
ARCH    ?= amd64
IMAGE   ?= ghcr.io/kubectl-tidb/kubectl-tidb:$(VERSION)
LDFLAGS := -s -w -X github.com/kubectl-tidb/kubectl-tidb/pkg/cli/version.version=$(VERSION)
NODE    := cd test/node && go run .

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/kubectl-tidb
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/kubectl-tidb ./cmd/kubectl-tidb

image: ## write bin/kubectl-tidb-image.tar, for docker load or ctr images import: make image ARCH=arm64 IMAGE=name:tag
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -ldflags '$(LDFLAGS)' -o bin/linux-$(ARCH)/kubectl-tidb ./cmd/kubectl-tidb
	cd test/node && go run ./image/pack -program ../../bin/linux-$(ARCH)/kubectl-tidb -arch $(ARCH) \
		-reference $(IMAGE) -o ../../bin/kubectl-tidb-image.tar

completions: build ## write bin/completions: what a release has for shells and for kubectl
	mkdir -p bin/completions
	bin/kubectl-tidb completion > bin/completions/kubectl_complete-tidb
	for shell in bash zsh fish powershell; do \
		bin/kubectl-tidb completion $$shell > bin/completions/kubectl-tidb.$$shell; done

notices: ## write bin/THIRD_PARTY_NOTICES: the licences of all modules that are linked
	mkdir -p bin
	cd test/release && go run ./notices ../.. ./cmd/kubectl-tidb ../../bin/THIRD_PARTY_NOTICES

# One platform after the other: each link takes a processor and up to 2 GiB of memory.
GORELEASER := go tool -modfile=test/release/go.mod goreleaser

release-snapshot: ## write dist: all of a release that needs no network service, for six platforms, and check it
	$(GORELEASER) release --snapshot --clean --parallelism 1 --skip=ko,sign,publish,announce
	$(MAKE) --no-print-directory release-manifest
	cd test/release && go test -count=1 . -dist ../../dist

release-manifest: ## write dist/krew/tidb.yaml: krew/tidb.yaml with the version and the sums of dist
	mkdir -p dist/krew
	cd test/release && go run ./manifest -from ../../krew/tidb.yaml -checksums ../../dist/checksums.txt \
		-version "v$$(sed -E 's/.*"version":"([^"]*)".*/\1/' ../../dist/metadata.json)" -o ../../dist/krew/tidb.yaml

test: SEED ?= 1
test: lint unit sim sim-scenarios wire backup-test e2e ## everything that proves the project works
	@echo "make test: all passed"

browser: ## install chromium, where no browser is there, for the tests that open pages
	@for b in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$b >/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		install="apt-get install -qq -y --no-install-recommends chromium"; \
		$$install >/dev/null || { apt-get update -qq && $$install >/dev/null; }; \
	else echo "no browser, and no right to install one: the tests that open pages are skipped"; fi

unit: browser ## unit tests, golden files and decision tables, with the race detector
	go test -race -timeout 30m ./...
	cd test/node && go test ./...
	cd test/alerts && go test ./...
	cd test/release && go test ./...
	cd test/plugins && go test ./...
	cd test/e2e && go test ./cmd/... ./advanced
	cd test/node/parts/fixtures && go test ./...
	cd test/node/parts/s3 && go test ./...
	cd test/node/parts/store && CGO_ENABLED=0 go test -ldflags=-checklinkname=0 ./...

sim: ## the simulation: make sim SEEDS=50000, seeds from the clock unless SEED=1 says; Ctrl-C prints what was found so far
	go test ./test/sim -run 'TestSeeds|TestSlotSeeds|TestExhaustive' -count=1 -v -timeout 0 -seeds $(SEEDS) -seed $(or $(SEED),0)

sim-scenarios: ## all other tests of the simulation
	go test ./test/sim -skip 'TestSeeds|TestSlotSeeds|TestExhaustive' -count=1 -timeout 0

sim-wire: ## the simulation that ends at the wire, with the real commands: make sim-wire SEEDS=100, seeds from the clock unless SEED=1 says
	go test ./test/wire -run TestSeeds -count=1 -v -timeout 0 -seeds $(SEEDS) -seed $(or $(SEED),0)

# A process of these tests uses one processor, so that the random runs and the other tests are done at the same time.
wire: ## all tests that end at the wire, and 60 runs of its simulation, the same each time
	go test -c -o bin/wire.test ./test/wire
	$(MAKE) --no-print-directory -j2 wire-runs wire-tests

wire-runs:
	cd test/wire && ../../bin/wire.test -test.run 'TestSeeds$$' -seeds 60 -seed 1

wire-tests:
	cd test/wire && ../../bin/wire.test -test.skip 'TestSeeds$$'

sim-exhaustive: ## every golden scenario of the simulation with every fault at every step: FAULTS=2 for pairs as well, which takes half an hour
	go test ./test/sim -run 'TestExhaustive|TestMendAfterKill' -count=1 -v -timeout 0 -exhaustive $(or $(FAULTS),1)

mutate: ## change what decides in one place at a time and see a test fail; some: make mutate SAMPLE=200 SEED=1
	go run ./test/mutate -sample $(SAMPLE) -seed $(or $(SEED),1) -parallel $(PARALLEL)

lint: formatted ## format, vet and the rules of the house, the purity of the core among them
	go tool -modfile=test/lint/go.mod golangci-lint run ./...

# The commands to paste begin with kubectl-tidb and try, which are in bin. What both are made of is compiled once.
try: ## a model of a cluster to practise on, without root, Linux or a node: make try SPEED=5 for five seconds in one
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/kubectl-tidb ./test/wire/try
	bin/try -speed $(or $(SPEED),1)

# What cannot run here at least compiles there, with its tests: go vet builds both.
vet-platforms: ## vet the plugin, its tests and make try for macOS and Windows
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet ./cmd/... ./pkg/... ./test/wire/try
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go vet ./cmd/... ./pkg/... ./test/wire/try

# formatted is what lint and verify share.
formatted:
	@test -z "$$(gofmt -l cmd pkg test)" || { gofmt -l cmd pkg test; exit 1; }
	go mod tidy -diff

# What is there already is compared as well, so that it can be run before a commit.
verify: formatted ## what is generated is up to date, the format is that of gofmt, go.mod is tidy
	@state() { { git diff HEAD; git status --porcelain; } | git hash-object --stdin; }; \
	before="$$(state)"; $(MAKE) --no-print-directory generate; \
	test "$$before" = "$$(state)" || { git status --short; echo "make generate changes files: commit them"; exit 1; }

generate: ## regenerate the CRD and the reference
	go generate ./...
	go run ./cmd/gen-docs docs/reference

node-up: ## a local Kubernetes node with images of PD, TiKV and TiDB (Linux, root); several hosts: make node-up HOSTS=3; fewer images: PARTS=demo
	$(NODE) up -hosts $(or $(HOSTS),0) -parts $(or $(PARTS),all)

lab-test: ## hosts of a node that crash, are cut off, reboot and are drained, on a node of its own
	cd test/node && go test -count=1 -timeout 15m -v ./lab -state /var/lib/kubectl-tidb-node-test/lab

backup-test: ## the real br with PD, TiKV, TiDB and an S3 server as processes, without a node
	cd test/node && go test -count=1 -timeout 20m -v ./loopback -processes

node-down: ## end the node and leave nothing behind
	$(NODE) down

node-images: ## build and load the node's images
	$(NODE) images

# All of it is compiled in the same way, so that what the plugin, the demo and the node's programs share is compiled once.
demo demo-full: export CGO_ENABLED = 0
demo demo-full: export GOFLAGS = -trimpath

demo: build ## a cluster created, scaled and upgraded before your eyes
	cd test/e2e && go run ./cmd/demo

demo-full: build ## the same with all components and TLS
	cd test/e2e && go run ./cmd/demo -full

record: build ## record real runs of verbs as docs/images/*.svg, SESSION=status one of them: needs script of util-linux, and npm
	cd test/e2e && go run ./cmd/record -o ../../docs/images $(SESSION)

# Before the tests, since it compiles for minutes the first time, and some of them measure time; not with the node,
# which demo and bench use without it. go does nothing if it is up to date.
cert-manager: ## build bin/cert-manager: cert-manager's controllers, for the end-to-end tests
	cd test/certmanager && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o ../../bin/cert-manager .

e2e: build image completions notices cert-manager ## the built binary and its image against a real node
	cd test/e2e && go test -count=1 -timeout 55m -parallel 3 -v .

# Hosts that crash would disturb all other tests, so that they have a node of their own.
LAB := NODE_STATE=/var/lib/kubectl-tidb-node-test/hosts NODE_NETWORK=1

e2e-hosts: build ## whole hosts that reboot, are drained, crash and are cut off, on a node of its own with three
	cd test/node && $(LAB) go run . up -hosts 3
	cd test/e2e && code=0; $(LAB) go test -count=1 -timeout 40m -v -run TestHosts . || code=$$?; \
	cd ../node && $(LAB) go run . down && exit $$code

# Two Kubernetes clusters, with names and addresses of their own.
FIRST := /var/lib/kubectl-tidb-node-test/first
SECOND := /var/lib/kubectl-tidb-node-test/second

e2e-clusters: build ## one database over two Kubernetes clusters, whose networks are joined and cut
	cd test/node && NODE_STATE=$(FIRST) NODE_NETWORK=1 go run . up && NODE_STATE=$(SECOND) NODE_NETWORK=2 go run . up
	cd test/node && NODE_STATE=$(SECOND) go run . join $(FIRST)
	cd test/e2e && code=0; NODE_STATE=$(FIRST) NODE_SECOND=$(SECOND) \
	go test -count=1 -timeout 40m -v -run TestTwoKubernetesClusters . || code=$$?; \
	cd ../node && NODE_STATE=$(SECOND) go run . down && NODE_STATE=$(FIRST) go run . down && exit $$code

e2e-all: e2e e2e-hosts e2e-clusters lab-test ## all tests against real nodes, also those that take long and rarely fail

RUNS ?= 3
LOAD ?= 0

# The command line is passed as it is, with what it has of quotes and dollars. A program that is built keeps its exit code.
bench: export BENCH_DRIVER = $(value DRIVER)
bench: build ## measure the operations on the node: make bench RUNS=3 LOAD=2 DRIVER='command line of a second driver'
	cd test/e2e && go build -o ../../bin/bench ./cmd/bench && ../../bin/bench -runs $(RUNS) -load $(LOAD) -driver "$$BENCH_DRIVER"

KUBECTL ?= kubectl

bench-start: build ## measure how long the plugin takes to start, beside kubectl: make bench-start KUBECTL=program
	go run ./test/starttime -kubectl $(KUBECTL)

CLUSTERS ?= 1000

bench-daemon: node-down ## measure a daemon with many clusters, on the node's API server alone: make bench-daemon CLUSTERS=1000
	cd test/node && GOGC=400 go run . api
	eval "$$(cd test/node && go run . env)" && go run ./cmd/kubectl-tidb init && go run ./test/manyclusters -clusters $(CLUSTERS)

DAEMONS ?= 3

bench-shards: ## measure daemons that share clusters, with an API server in memory: make bench-shards CLUSTERS=10000 DAEMONS=3
	go run ./test/manyclusters -memory -clusters $(CLUSTERS) -daemons $(DAEMONS)

bench-commands: build ## measure time, memory and requests of commands, with an API server in memory
	go run ./test/manyclusters -memory -program bin/kubectl-tidb -commands -clusters 1000
	go run ./test/manyclusters -memory -program bin/kubectl-tidb -commands -clusters 1 -tikv 300 -tidb 100

.PHONY: $(shell sed -n "s/^\([a-z][a-z0-9-]*\):.*/\1/p" $(firstword $(MAKEFILE_LIST)))
