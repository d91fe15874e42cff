// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func parse(t *testing.T, args ...string) Options {
	t.Helper()
	opts := DefaultOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	opts.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return opts
}

func TestFlagsDefaultToDefaultOptions(t *testing.T) {
	opts := parse(t)
	if err := opts.Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	opts.Concurrent = nil // An empty map is equivalent.
	if want := DefaultOptions(); !reflect.DeepEqual(opts, want) {
		t.Errorf("got %+v, want %+v", opts, want)
	}
}

func TestFlags(t *testing.T) {
	opts := parse(
		t,
		"--controllers=-contexts",
		"--workers=3",
		"--concurrent=contexts=5",
		"--default-context-exclude-namespaces=a,b",
		"--namespaces=c,d",
		"--shard=2/5",
		"--deploy-item-pickup-timeout=none",
		"--deployer-identity=me",
		"--tenancy=strict",
		"--deployer-target-selector=labels=a in (b,c)",
		"--deployer-target-selector=targets=d",
		"--events-address=http://e/",
		"--pull-request-poll-interval=5s",
		"--rollout-deadline=2h",
		"--approval-address=0",
		"--approval-tls-certificate=c",
		"--approval-tls-key=k",
		"--approval-trusted-proxies=10.0.0.0/8",
		"--approval-legacy-signatures",
		"--approval-unsigned",
		"--application-kinds=App.apps.example,Site.sites.example",
		"--quota-installations=1",
		"--quota-deploy-items=2",
		"--quota-rendered-bytes=3Ki",
		"--quota-concurrent-jobs=4",
		"--registry-cache-dir=cache",
		"--registry-cache-size=7",
		"--components-dir=components",
		"--default-repository-context=registry.example.com/components",
		"--signature-verification=Enforce",
		"--metrics-address=0",
		"--health-probe-address=:1",
		"--leader-elect=false",
		"--leader-elect-namespace=n",
		"--leader-elect-lease-duration=3s",
		"--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=1s",
	)
	want := Options{
		Controllers: []string{"-contexts"}, Workers: 3, Concurrent: map[string]int{"contexts": 5},
		DefaultContextExcludeNamespaces: []string{"a", "b"}, Namespaces: []string{"c", "d"}, Shard: "2/5", MetricsAddress: "0",
		Tenancy:                 StrictTenancy,
		DeployItemPickupTimeout: "none", DeployerIdentity: "me", DeployerTargetSelectors: []string{"labels=a in (b,c)", "targets=d"},
		Pipelines: PipelineOptions{
			EventsAddress:          "http://e/",
			PollInterval:           5 * time.Second,
			RolloutDeadline:        2 * time.Hour,
			ApprovalAddress:        Disabled,
			ApprovalCertificate:    "c",
			ApprovalKey:            "k",
			ApprovalTrustedProxies: []string{"10.0.0.0/8"},
			LegacySignatures:       true,
			UnsignedApprovals:      true,
			ApplicationKinds:       []string{"App.apps.example", "Site.sites.example"},
		},
		Containers: defaultContainerOptions(),
		Quotas:     QuotaOptions{Installations: 1, DeployItems: 2, RenderedBytes: "3Ki", ConcurrentJobs: 4},
		Registries: RegistryOptions{
			CacheDirectory:           "cache",
			CacheMebibytes:           7,
			ComponentsDirectory:      "components",
			DefaultRepositoryContext: "registry.example.com/components",
			Verification:             "Enforce",
		},
		ProbeAddress:   ":1",
		LeaderElection: LeaderElection{Namespace: "n", LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second},
	}
	if !reflect.DeepEqual(opts, want) {
		t.Errorf("got %+v, want %+v", opts, want)
	}
}

func TestWorkers(t *testing.T) {
	opts := Options{Workers: 3, Concurrent: map[string]int{"contexts": 5}}
	if got := opts.workersOf("contexts"); got != 5 {
		t.Errorf("a controller with a number of its own has %d workers", got)
	}
	if got := opts.workersOf("other"); got != 3 {
		t.Errorf("a controller without has %d workers", got)
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	tests := map[string][]string{
		`--controllers: unknown controller "nope"`: {"--controllers=nope"},
		"--workers is 0":                                                         {"--workers=0"},
		"--quota-installations is -1":                                            {"--quota-installations=-1"},
		"--quota-deploy-items is -1":                                             {"--quota-deploy-items=-1"},
		"--quota-concurrent-jobs is -1":                                          {"--quota-concurrent-jobs=-1"},
		`--quota-rendered-bytes is "lots"`:                                       {"--quota-rendered-bytes=lots"},
		`--quota-rendered-bytes is "-1Mi"`:                                       {"--quota-rendered-bytes=-1Mi"},
		`--profiling-address is "0.0.0.0:6060", which others could reach`:        {"--profiling-address=0.0.0.0:6060"},
		`--profiling-address is ":6060", which others could reach`:               {"--profiling-address=:6060"},
		`--profiling-address is "pod.local:6060", which others could reach`:      {"--profiling-address=pod.local:6060"},
		`--profiling-address is "6060": use the form 127.0.0.1:6060`:             {"--profiling-address=6060"},
		`--concurrent: unknown controller "nope"`:                                {"--concurrent=nope=1"},
		"--concurrent: contexts is -1":                                           {"--concurrent=contexts=-1"},
		`--shard: "2" is not a shard: use NUMBER/COUNT`:                          {"--shard=2"},
		`--shard: "4/3" is not a shard: the number must be from 1 to 3`:          {"--shard=4/3"},
		`--shard: "0/3" is not a shard: the number must be from 1 to 3`:          {"--shard=0/3"},
		`--shard: "1/0" is not a shard: the count must be from 1 to 100`:         {"--shard=1/0"},
		`--deploy-item-pickup-timeout: invalid duration "soon"`:                  {"--deploy-item-pickup-timeout=soon"},
		`--tenancy is "Strict": use shared or strict`:                            {"--tenancy=Strict"},
		`--tenancy is "": use shared or strict`:                                  {"--tenancy="},
		`--deployer-identity is "Me!"`:                                           {"--deployer-identity=Me!"},
		"--deployer-target-selector: target selector \"a=b\"":                    {"--deployer-target-selector=a=b"},
		"--events-address is not a URL":                                          {"--events-address=flux"},
		"--pull-request-poll-interval is 0s":                                     {"--pull-request-poll-interval=0"},
		"--rollout-deadline must be positive":                                    {"--rollout-deadline=0"},
		`--approval-trusted-proxies: "10" is not a network`:                      {"--approval-trusted-proxies=10"},
		"--approval-tls-certificate and --approval-tls-key must be set together": {"--approval-tls-key=k"},
		`--application-kinds: "Secret" is not a kind`:                            {"--application-kinds=HelmRelease.helm.toolkit.fluxcd.io,Secret"},
		`--application-kinds: "Secret.v1" is not a kind`:                         {"--application-kinds=Secret.v1"},
		"--default-repository-context: a repository context needs a type":        {"--default-repository-context={}"},
		"--leader-elect-retry-period must be positive":                           {"--leader-elect-retry-period=0"},
		"--leader-elect-renew-deadline must be longer than --leader-elect-r":     {"--leader-elect-renew-deadline=2s"},
		"--leader-elect-lease-duration must be longer than --leader-elect-r":     {"--leader-elect-lease-duration=10s"},
	}
	for want, args := range tests {
		opts := parse(t, args...)
		if err := opts.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	opts := parse(t, "--leader-elect=false", "--leader-elect-retry-period=0")
	if err := opts.Validate(); err != nil {
		t.Errorf("the timing of an election that does not take place matters: %v", err)
	}
}

// Processes that share the work of one deployer must not wait for each other.
func TestEachIdentityHasItsOwnLease(t *testing.T) {
	without, with := Options{}, Options{DeployerIdentity: "north"}
	if without.leaseName() != LeaseName || with.leaseName() != LeaseName+"-north" {
		t.Errorf("leases %q and %q", without.leaseName(), with.leaseName())
	}
}
