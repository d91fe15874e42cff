# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Everything here needs Go, git and a C compiler, nothing else. Tools are built from the versions pinned in tools/go.mod.
# Set RELEASE=yes for a reproducible, stripped build; without it the binaries share their compiled packages with the tests,
# which saves minutes.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The Go modules with code of the product; tools/ only pins versions.
MODULES := . api cmd/espalier examples/file-deployer

VERSION    = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
KUBERNETES = $(shell sed -n 's|^\tk8s.io/kubernetes v||p' cmd/espalier/go.mod)
K8S_MAJOR  = $(word 1,$(subst ., ,$(KUBERNETES)))
K8S_MINOR  = $(word 2,$(subst ., ,$(KUBERNETES)))

BUILD_FLAGS := -buildvcs=false $(if $(RELEASE),-trimpath)
LINK_FLAGS   = $(if $(RELEASE),-s -w) -X espalier.dev/internal/version.version=$(VERSION) \
	$(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
		-X $(package).gitVersion=v$(KUBERNETES) -X $(package).gitMajor=$(K8S_MAJOR) -X $(package).gitMinor=$(K8S_MINOR))

.PHONY: help
help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: generate
generate: ## Write the CRDs, deep copies and other generated files anew.
	tools/generate.sh

.PHONY: lint
lint: ## Check the rules of the project (gofmt among them), run vet and staticcheck.
	go test ./internal/lint ./internal/conformance
	@staticcheck=$$(go -C tools tool -n staticcheck); status=0; \
	for module in $(MODULES); do \
		echo "vet and staticcheck: $$module"; \
		(cd $$module && go vet -tags externals,mutants,seeded ./... && "$$staticcheck" -tags externals,mutants,seeded ./...) || status=1; \
	done; \
	exit $$status

.PHONY: externals
externals: ## Build the programs that tests start: an API server, Gitea and the controllers of Flux.
	go run ./internal/testkit/prebuild

# The packages that start goroutines or share memory between them are tested under the race detector. The others gain nothing by it, and those
# that only decide, with their tests over all states, would take many times as long.
RACED := ./cmd/espalier-controller ./deployer/... ./internal/approval ./internal/cli/follow ./internal/component/... ./internal/controller/... \
	./internal/dashboard ./internal/deployer/... ./internal/fleet ./internal/gitprovider/... ./internal/loop ./internal/lru ./internal/manager/... \
	./internal/schema ./internal/target ./internal/taskgroup ./internal/template/spiff ./test/canary

# Whole workloads under faults. A newcomer runs one plan in eight of a sample, CI and test-all the whole sample, "make faults" every plan.
SWEEPS := ./test/faults ./test/faults/promotions
SHARE  ?= 8

TEST_TIMEOUT = 40m
GO_TEST      = go test -vet=off $(TEST_FLAGS) -parallel 8 -timeout $(TEST_TIMEOUT)

# The API server is built first: cold, that takes longer than a test may run. Vet belongs to lint. The race detector stays off where Kubernetes
# itself would have to be compiled a second time for it.
.PHONY: test
test: ## Run the tests of all modules, except those that need Gitea or Flux, with a small share of the fault sweeps.
	go run ./internal/testkit/prebuild apiserver
	$(GO_TEST) $$(go list ./... | grep -vxF "$$(go list $(RACED) $(SWEEPS))")
	$(GO_TEST) $(SWEEPS) -args -share=$(SHARE)
	$(GO_TEST) -race -parallel 4 $(RACED)
	cd api && $(GO_TEST) ./...
	cd examples/file-deployer && $(GO_TEST) ./...
	cd cmd/espalier && $(GO_TEST) ./...

# Files with the build tag externals hold the tests that need Gitea or Flux.
.PHONY: test-externals
test-externals: externals ## Run the tests that need Gitea or Flux, which are built first: cold, that takes half an hour.
	files=$$(grep -rl --include='*_test.go' '^//go:build externals' internal test); \
	tests=$$(sed -n 's/^func \(Test[^(]*\)(.*testing\.T.*/\1/p' $$files | paste -sd '|'); \
	$(GO_TEST) -race -tags externals -run "^($$tests)\$$" $$(dirname $$files | sort -u | sed 's|^|./|')

.PHONY: test-all
test-all: SHARE = 1
test-all: test test-externals ## Run all tests, with the whole sample of the fault sweeps.

# Nothing comes out of the test cache here, and each package gets the time that its share of the processors makes of it.
.PHONY: test-busy
test-busy: externals ## Run all tests beside eight busy loops, to find those that lean on the speed of a machine.
	tools/busy.sh 8 $(MAKE) test-all TEST_FLAGS=-count=1 TEST_TIMEOUT=3h

.PHONY: e2e
e2e: externals ## Run the end-to-end tests.
	go test -vet=off -count=1 -timeout 20m -tags externals ./cmd/espalier-controller ./test/e2e ./test/canary ./test/pipelines
	cd cmd/espalier && go test -vet=off -count=1 -timeout 20m ./...

.PHONY: faults
faults: ## Run the tests that inject crashes and failures at every request, and the seeded bugs; takes hours.
	go run ./internal/testkit/prebuild apiserver gitea
	go test -vet=off -count=1 -timeout 20m -parallel 8 -run 'Every|Stale|NotIdempotent' ./internal/loop
	go test -vet=off -count=1 -timeout 20m ./internal/testkit/faults
	go test -vet=off -count=1 -timeout 10h -parallel 12 ./test/faults -args -full
	go test -vet=off -count=1 -timeout 3h -tags seeded -v ./test/faults/seeded
	go test -vet=off -count=1 -timeout 5h -parallel 12 -tags externals ./test/faults/promotions/... -args -full
	go test -vet=off -count=1 -timeout 3h -tags seeded -v ./test/faults/promotions/seeded

.PHONY: mutants
mutants: ## Break one requirement after the other, and check that its tests notice; takes an hour.
	go run ./internal/testkit/prebuild apiserver
	go test -vet=off -count=1 -timeout 4h -tags mutants -v ./internal/conformance/mutants $(MUTANTS)

.PHONY: bench
bench: ## Run the benchmarks: what installations and promotions cost, then those of single packages.
	go run ./internal/testkit/prebuild apiserver
	go test -vet=off -count=1 -run '^$$' -bench . -benchtime 1x -timeout 1h -p 1 ./test/bench/...
	go test -vet=off -run '^$$' -bench . -benchmem $$(go list ./... | grep -v /test/)

.PHONY: build
build: ## Build bin/espalier, bin/kubectl-espalier and bin/espalier-controller.
	go build $(BUILD_FLAGS) -ldflags "$(strip $(LINK_FLAGS))" -o bin/espalier-controller ./cmd/espalier-controller
	cd cmd/espalier && go build $(BUILD_FLAGS) -ldflags "$(strip $(LINK_FLAGS))" -o ../../bin/espalier .
	ln -sf espalier bin/kubectl-espalier

.PHONY: up
up: build ## Start a control plane with all controllers on this machine, with an example in it.
	bin/espalier up --example hello-world
