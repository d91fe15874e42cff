# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# To build, you need Go and git. The race detector, and Gitea and Dex, which some tests start, also need a C compiler. Tools are built from
# the versions pinned in tools/go.mod.
# Set RELEASE=yes for a reproducible, stripped build; without it the binaries share their compiled packages with the tests,
# which saves minutes.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Programs are static. Also, with cgo the linker keeps unused code (a library of Helm's loads plugins) and takes twice as long, and
# there are more than a hundred test programs to link. The race detector needs cgo.
export CGO_ENABLED := 0

# The Go modules with code of the product; tools/ only pins versions.
MODULES := . api cmd/espalier examples/file-deployer test/alerts test/componentspec

# The address of the site that "make docs" builds, if it is published: messages link to it rather than to files of the repository.
DOCS      ?=
VERSION    = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
KUBERNETES = $(shell sed -n 's|^\tk8s.io/kubernetes v||p' cmd/espalier/go.mod)
K8S_MAJOR  = $(word 1,$(subst ., ,$(KUBERNETES)))
K8S_MINOR  = $(word 2,$(subst ., ,$(KUBERNETES)))

BUILD_FLAGS := -buildvcs=false $(if $(RELEASE),-trimpath)
LINK_FLAGS   = $(if $(RELEASE),-s -w) $(STAMPS)
STAMPS       = -X espalier.dev/internal/version.version=$(VERSION) $(if $(DOCS),-X espalier.dev/internal/version.documentation=$(DOCS)) \
	$(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
		-X $(package).gitVersion=v$(KUBERNETES) -X $(package).gitMajor=$(K8S_MAJOR) -X $(package).gitMinor=$(K8S_MINOR))

.PHONY: help
help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: generate
generate: ## Regenerate the CRDs, deep copies and other files.
	tools/generate.sh

.PHONY: docs
docs: ## Build the documentation as a static site into the folder site, and check its links.
	go run ./internal/site -out site

.PHONY: lint
lint: ## Check the rules of the project (gofmt among them) and commit subjects, run vet and staticcheck.
	tools/commit-subjects.sh
	go test ./internal/lint ./internal/conformance
	@staticcheck=$$(go -C tools tool -n staticcheck); status=0; \
	for module in $(MODULES); do \
		echo "vet and staticcheck: $$module"; \
		(cd $$module && go vet -tags externals,mutants,node,seeded ./... && "$$staticcheck" -tags externals,mutants,node,seeded ./...) || status=1; \
	done; \
	exit $$status

.PHONY: externals
externals: ## Build the programs that tests start: an API server, Gitea, Dex and the controllers of Flux.
	go run ./internal/testkit/prebuild

# The packages that start goroutines or share memory between them, to be tested under the race detector. The others gain nothing by it, and
# those that only decide, with their tests over all states, would take many times as long.
RACED := ./cmd/espalier-controller ./deployer/... ./internal/approval ./internal/artifact ./internal/cli/follow ./internal/component/... ./internal/controller/... \
	./internal/deployer/... ./internal/fleet ./internal/gitprovider/... ./internal/loop ./internal/lru ./internal/manager/... ./internal/oci \
	./internal/schema ./internal/shard ./internal/target ./internal/taskgroup ./internal/tenancy ./internal/template/spiff ./internal/web/... ./test/canary

# Whole workloads under faults. "make test" runs one plan in sixty-four of a sample, each day others; test-all runs the whole sample, and
# "make faults" every plan. Of tests that try very many cases, "make test" tries one case in CASES (internal/testkit/share). BUDGET is the time after which no more plans are begun; each sweep is run in its folder, since go test then shows
# what it prints about plans that are left out.
SWEEPS := ./test/faults ./test/faults/promotions
SHARE  ?= 64
CASES  ?= 4
export CASES
BUDGET ?= 0

TEST_TIMEOUT = 40m
# Tests wait for API servers as often as they compute, so more packages than cores are tested at once. Without what a
# debugger needs, they are linked in two thirds of the time; without garbage collection, in three quarters of that. A test that needs more
# memory than the limit collects it, and so do API servers, which live longer (internal/testkit/apiserver).
# A package, its API server included, needs up to 2 GiB.
PACKAGES     = $$(cat /proc/meminfo 2>/dev/null | awk -v most=$$((2 * $$(getconf _NPROCESSORS_ONLN))) \
	'/^MemTotal:/ { room = int($$2 / 2097152 + 0.5); if (room < 1) room = 1 } END { print room && room < most ? room : most }')
GO_TEST      = GOGC=off GOMEMLIMIT=1GiB ESPALIER_TEST_SHARE=$(CASES) go test -p $(PACKAGES) -vet=off -ldflags='-s -w' $(TEST_FLAGS) -parallel 8 -timeout $(TEST_TIMEOUT)

# The packages that take longest begin first, so that none of them is left alone at the end.
LONG := ./test/... ./internal/controller/... ./internal/deployer/... ./internal/cli/check ./internal/cli/migrate

# The API server is built first: cold, that takes longer than a test may run. Vet belongs to lint.
.PHONY: test
test: ## Run the tests of all modules, except those that need Gitea or Flux, with a small share of the fault sweeps.
	go run ./internal/testkit/prebuild apiserver
	$(MAKE) -j2 test-packages test-sweeps-and-modules SHARE=$(SHARE)

.PHONY: test-packages
test-packages:
	go run ./internal/testkit/together env $(GO_TEST) $$(go list $(LONG) ./... | awk '!seen[$$0]++' | grep -vxF "$$(go list $(SWEEPS))")

.PHONY: test-sweeps-and-modules
test-sweeps-and-modules:
	for sweep in $(SWEEPS); do (cd $$sweep && $(GO_TEST) -args -share=$(SHARE) -budget=$(BUDGET)) || exit; done
	for module in $(filter-out .,$(MODULES)); do (cd $$module && $(GO_TEST) -p 2 ./...) || exit; done

# It compiles all libraries a second time. It stays off where Kubernetes itself would have to be compiled for it.
.PHONY: test-race
test-race: ## Run the tests of the packages that start goroutines under the race detector.
	go run ./internal/testkit/prebuild apiserver
	CGO_ENABLED=1 $(GO_TEST) -race -p 2 -parallel 4 $(RACED)

# Files with the build tag externals hold the tests that need Gitea, Dex or Flux.
.PHONY: test-externals
test-externals: externals ## Run the tests that need Gitea, Dex or Flux, which are built first: cold, that takes half an hour.
	files=$$(grep -rl --include='*_test.go' '^//go:build externals' internal test); \
	tests=$$(sed -n 's/^func \(Test[^(]*\)(.*testing\.T.*/\1/p' $$files | paste -sd '|'); \
	CGO_ENABLED=1 $(GO_TEST) -race -tags externals -run "^($$tests)\$$" $$(dirname $$files | sort -u | sed 's|^|./|')
	$(MAKE) --no-print-directory test-gitops

.PHONY: test-gitops
test-gitops: ## Run the tests of the example gitops, with a Gitea that is built first.
	go run ./internal/testkit/prebuild apiserver gitea
	cd cmd/espalier; files=$$(grep -rl --include='*_test.go' '^//go:build externals' .); \
	tests=$$(sed -n 's/^func \(Test[^(]*\)(.*testing\.T.*/\1/p' $$files | paste -sd '|'); \
	$(GO_TEST) -tags externals -run "^($$tests)\$$" $$(dirname $$files | sort -u)

.PHONY: test-all
test-all: SHARE = 1
test-all: CASES = 1
test-all: test test-race test-externals optional-node-tests optional-browser-tests ## Run all tests, with the whole sample of the fault sweeps and under the race detector.

# Nothing comes out of the test cache here, and each package has a longer time limit, for its smaller share of the cores. The race detector
# would repeat some of these tests, slowed down in another way, for hours.
.PHONY: test-busy
test-busy: externals ## Run test and test-externals beside eight busy loops, to find tests that depend on machine speed.
	tools/busy.sh 8 $(MAKE) test test-externals TEST_FLAGS=-count=1 TEST_TIMEOUT=3h

.PHONY: e2e
e2e: externals ## Run the end-to-end tests.
	go test -vet=off -count=1 -timeout 20m -tags externals ./cmd/espalier-controller ./test/e2e ./test/canary ./test/pipelines
	cd cmd/espalier && go test -vet=off -count=1 -timeout 20m ./...
	$(MAKE) --no-print-directory optional-node-tests

# Files with the build tag node hold the tests that run pods. One package after the other, for each looks for what the node leaves behind.
.PHONY: test-node
test-node: ## Run the tests that run pods on a real node, as root; Debian packages that it needs are installed if they are missing.
	tools/node-packages.sh
	$(MAKE) --no-print-directory node-tests

.PHONY: node-tests
node-tests:
	go run ./internal/testkit/prebuild node pause
	cd cmd/espalier; files=$$(grep -rl --include='*_test.go' '^//go:build node' .); \
	tests=$$(sed -n 's/^func \(Test[^(]*\)(.*testing\.T.*/\1/p' $$files | paste -sd '|'); \
	$(GO_TEST) -p 1 -count=1 -tags node -run "^($$tests)\$$" $$(dirname $$files | sort -u)

# Where the machine allows no node, its tests are left out, and the output says what is missing. Being asked for a node, as by test-node, is
# another thing.
.PHONY: optional-node-tests
optional-node-tests:
	@if tools/node-packages.sh; then $(MAKE) --no-print-directory node-tests; \
	else echo "the tests that run pods on a real node are left out"; fi

# Likewise for browsers.
.PHONY: optional-browser-tests
optional-browser-tests:
	@if tools/has-npm.sh && tools/chromium.sh; then $(MAKE) --no-print-directory ui-browser && $(MAKE) --no-print-directory ui-journeys UI=no; \
	else echo "the tests in a browser are left out"; fi

.PHONY: faults
faults: ## Run the tests that inject crashes and failures at every request, and the seeded bugs; takes hours.
	go run ./internal/testkit/prebuild apiserver gitea
	go test -vet=off -count=1 -timeout 20m -parallel 8 -run 'Every|Stale|NotIdempotent' ./internal/loop
	go test -vet=off -count=1 -timeout 20m ./internal/testkit/faults
	go test -vet=off -count=1 -timeout 10h -parallel 12 ./test/faults -args -full
	go test -vet=off -count=1 -timeout 3h -parallel 4 -tags seeded -v ./test/faults/seeded
	go test -vet=off -count=1 -timeout 5h -parallel 12 -tags externals ./test/faults/promotions/... -args -full
	go test -vet=off -count=1 -timeout 3h -parallel 4 -tags seeded -v ./test/faults/promotions/seeded

# MUTANTS='-args -update' records the results and shows them in docs/conformance.md.
.PHONY: mutants
mutants: ## Break one requirement after the other, and check that its tests notice; takes an hour.
	go run ./internal/testkit/prebuild apiserver
	go test -vet=off -count=1 -timeout 4h -parallel 4 -tags mutants -v ./internal/conformance/mutants $(MUTANTS)

.PHONY: bench
bench: ## Run the benchmarks: what installations and promotions cost, then those of single packages.
	go run ./internal/testkit/prebuild apiserver
	go test -vet=off -count=1 -run '^$$' -bench . -benchtime 1x -timeout 1h -p 1 ./test/bench/...
	go test -vet=off -run '^$$' -bench . -benchmem $$(go list ./... | grep -v /test/)

# The pages of the web UI need Node.js 20 or newer with npm 11. What is built of them lies in ui/dist/site and is not committed.
ui/node_modules: ui/package.json ui/package-lock.json
	cd ui && npm ci --no-fund --no-audit
	touch ui/node_modules

.PHONY: ui
ui: ui/node_modules ## Build the pages of the web UI into ui/dist/site.
	cd ui && npm run build

.PHONY: ui-test
ui-test: ui/node_modules ## Check the types of the pages of the web UI, and run their tests that need no browser.
	cd ui && npm run check && npm test

.PHONY: ui-browser
ui-browser: ui ## Run the tests of the pages in Chromium, which is installed by apt-get if it is missing.
	tools/chromium.sh
	cd ui && npm run browser

.PHONY: ui-journeys
ui-journeys: build ## Run end-to-end tests of the web UI of bin/espalier in Chromium: all actions, tenants, lost connections.
	tools/chromium.sh
	cd cmd/espalier && go build $(BUILD_FLAGS) -ldflags "$(strip $(subst version.version=$(VERSION),version.version=$(VERSION)-next,$(LINK_FLAGS)))" -o ../../bin/espalier-next .
	cd ui && node --test browser/real.test.mjs

.PHONY: pictures
pictures: ui ## Recreate the pictures of the web UI in the documentation, from made-up data.
	tools/chromium.sh
	cd ui && npm run screenshots -- little overview installation pipeline
	for view in overview installation pipeline; do cp ui/screenshots/little-$$view-1440-light.png docs/images/ui-$$view.png; done
	cp ui/screenshots/little-overview-1440-dark.png docs/images/ui-overview-dark.png

# Where there is no npm 11, the programs are built without the pages, and say so on the page they serve instead. UI=no leaves them out.
.PHONY: optional-ui
optional-ui:
	@if [ "$(UI)" = no ]; then echo "the pages of the web UI are left as they are"; \
	elif tools/has-npm.sh; then $(MAKE) --no-print-directory ui; \
	else echo "the programs are built without the pages of the web UI"; fi

.PHONY: build
build: optional-ui ## Build bin/espalier, bin/kubectl-espalier and bin/espalier-controller.
	go build $(BUILD_FLAGS) -ldflags "$(strip $(LINK_FLAGS))" -o bin/espalier-controller ./cmd/espalier-controller
	cd cmd/espalier && go build $(BUILD_FLAGS) -ldflags "$(strip $(LINK_FLAGS))" -o ../../bin/espalier .
	ln -sf espalier bin/kubectl-espalier
	ln -sf espalier bin/kubectl_complete-espalier

# The programs of a node are built once for each state of their sources, and kept in .cache.
.PHONY: node
node: ## Build bin/espalier-node and bin/espalier-pause, which "espalier up --node" starts.
	mkdir -p bin
	$(if $(RELEASE),for program in node pause; do \
		(cd cmd/espalier && go build $(BUILD_FLAGS) -ldflags "-s -w" -o ../../bin/espalier-$$program ./$$program) || exit; \
	done,for program in node pause; do \
		cp -f "$$(go run ./internal/testkit/prebuild $$program)" bin/espalier-$$program || exit; \
	done)

# What its Go module contains: the API is complete, but pages lack their scripts and style sheets, which npm would have to build.
.PHONY: gitea
gitea: ## Build bin/gitea, which "espalier up --example gitops" starts.
	mkdir -p bin/gitea-static
	cp -f "$$(go run ./internal/testkit/prebuild gitea)" bin/gitea
	chmod -R u+w bin/gitea-static; rm -rf bin/gitea-static/*
	files=$$(go run ./internal/testkit/prebuild -files gitea); \
	cp -R "$$files/options" "$$files/public" "$$files/templates" bin/gitea-static
	chmod -R u+w bin/gitea-static

# All artefacts of a release, of the same bytes on every machine (docs/releases.md). Each platform compiles Kubernetes once.
PLATFORMS         ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
RELEASES          ?= https://espalier.dev/releases/$(VERSION)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
MAKE_RELEASE = SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' go run ./internal/release -version '$(VERSION)' \
	-revision '$(shell git rev-parse HEAD 2>/dev/null)' -address '$(RELEASES)' -ldflags '$(strip $(STAMPS))' $(if $(filter no,$(UI)),-pages=false) \
	$(if $(SIGN),-sign '$(SIGN)')

.PHONY: release
release: optional-ui ## Build the artefacts of a release for PLATFORMS into dist: programs, images, manifests, chart, checksums.
	rm -rf dist
	$(MAKE_RELEASE) -out dist -platforms '$(PLATFORMS)'

.PHONY: image
image: $(if $(IMAGES),$(if $(filter espalier,$(IMAGES)),optional-ui),optional-ui) ## Build the images for Linux, or those that IMAGES names, into dist/images.
	rm -rf dist/images
	$(MAKE_RELEASE) -out dist/images -parts images -products '$(IMAGES)' -platforms '$(filter linux/%,$(PLATFORMS))'

.PHONY: up
up: build ## Start a control plane with all controllers on this machine, with an example in it.
	bin/espalier up --example hello
