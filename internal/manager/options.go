// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/shard"
	"espalier.dev/internal/version"
)

// Disabled is an address that disables a listener.
const Disabled = "0"

// Options configure which controllers to run, and how.
type Options struct {
	// Controllers is a selection; see Select.
	Controllers []string

	// Workers is how many objects of one namespace each controller processes concurrently; a quarter more are for other namespaces. Concurrent
	// overrides it for single controllers, by name.
	Workers    int
	Concurrent map[string]int

	// Shard is the share of the work of this process, such as 2/5; empty means all of it. See shard.Parse.
	Shard string

	// Namespaces are the only ones whose objects are processed; none means all.
	Namespaces []string

	// DefaultContextExcludeNamespaces get no default Context.
	DefaultContextExcludeNamespaces []string

	// SystemNamespace is the namespace of the controllers' own objects. Empty means the namespace of the process, or "default" outside a
	// cluster.
	SystemNamespace string

	// DeployItemPickupTimeout is how long a deploy item may wait for a deployer; "none" disables the limit.
	DeployItemPickupTimeout lsv1alpha1.Duration

	// DeployerIdentity distinguishes processes with deployers of the same type, and DeployerTargetSelectors, in the syntax of
	// deployitem.ParseTargetSelector, divide the deploy items between them.
	DeployerIdentity        string
	DeployerTargetSelectors []string

	// Tenancy determines whose rights are used for the work in a namespace.
	Tenancy Tenancy

	// Pipelines configure promotions.
	Pipelines PipelineOptions

	// Containers configure the pods of the container deployer.
	Containers ContainerOptions

	// Quotas limit the objects of a namespace.
	Quotas QuotaOptions

	// Registries configure access to registries.
	Registries RegistryOptions
	// registries are shared by all controllers of a manager.
	registries *artifact.Registries

	// MetricsAddress and ProbeAddress are host:port, or Disabled.
	MetricsAddress string
	ProbeAddress   string
	// ProfilingAddress is host:port on loopback; empty or Disabled disables profiling.
	ProfilingAddress string

	LeaderElection LeaderElection
}

// LeaderElection ensures that only one of several managers works.
type LeaderElection struct {
	Enabled bool
	// Namespace of the lease. Empty means the namespace of the process.
	Namespace     string
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// DefaultOptions returns the options for running all controllers in a cluster.
func DefaultOptions() Options {
	return Options{
		Controllers:                     []string{"*"},
		Workers:                         8,
		DefaultContextExcludeNamespaces: []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"},
		DeployItemPickupTimeout:         lsv1alpha1.NewDuration(deployitem.DefaultPickupTimeout),
		Tenancy:                         SharedTenancy,
		Pipelines:                       defaultPipelineOptions(),
		Containers:                      defaultContainerOptions(),
		Quotas:                          defaultQuotaOptions(),
		Registries:                      defaultRegistryOptions(),
		MetricsAddress:                  ":8080",
		ProbeAddress:                    ":8081",
		LeaderElection: LeaderElection{
			Enabled:       true,
			LeaseDuration: 15 * time.Second,
			RenewDeadline: 10 * time.Second,
			RetryPeriod:   2 * time.Second,
		},
	}
}

// AddFlags binds the options to flags, with their current values as defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.AddControllerFlags(flags)
	o.addProcessFlags(flags)
}

// AddControllerFlags binds the options of the controllers, for any process that runs them.
func (o *Options) AddControllerFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(
		&o.Controllers,
		"controllers",
		o.Controllers,
		"controllers to run: * for all, names, and -name for all but that one.\n"+describe(all),
	)
	flags.IntVar(
		&o.Workers,
		"workers",
		o.Workers,
		"how many objects of one namespace each controller processes at once; a quarter more workers are reserved for other namespaces",
	)
	flags.StringToIntVar(&o.Concurrent, "concurrent", o.Concurrent, "number of workers of single controllers, as name=number")
	flags.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces, "work only on objects in these namespaces (default: all)")
	flags.StringSliceVar(
		&o.DefaultContextExcludeNamespaces,
		"default-context-exclude-namespaces",
		o.DefaultContextExcludeNamespaces,
		"namespaces that get no default Context",
	)
	flags.StringVar(
		&o.SystemNamespace,
		"system-namespace",
		o.SystemNamespace,
		"namespace for the controllers' own data (default: the namespace of the pod, or \"default\")",
	)
	flags.StringVar(
		(*string)(&o.DeployItemPickupTimeout),
		"deploy-item-pickup-timeout",
		string(o.DeployItemPickupTimeout),
		"how long a deploy item may wait for a deployer before it fails; none for no limit",
	)
	flags.StringVar(
		&o.DeployerIdentity,
		"deployer-identity",
		o.DeployerIdentity,
		"identity of this process, if several run deployers of the same type; each identity has its own lease",
	)
	flags.StringArrayVar(
		&o.DeployerTargetSelectors,
		"deployer-target-selector",
		o.DeployerTargetSelectors,
		"only handle deploy items whose Target this selects, for example\n\"labels=fence=blue,!old\" or \"targets=garden/north,garden/south; annotations=team in (a,b)\"; all parts must match; can be repeated for alternatives (default: all deploy items)",
	)
	o.Tenancy.addFlags(flags)
	o.Pipelines.addFlags(flags)
	o.Containers.addFlags(flags)
	o.Quotas.addFlags(flags)
	o.Registries.addFlags(flags)
}

// addProcessFlags binds the options of a process that runs beside others in a cluster.
func (o *Options) addProcessFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.MetricsAddress, "metrics-address", o.MetricsAddress, "address for Prometheus metrics at /metrics; 0 for none")
	flags.StringVar(&o.ProbeAddress, "health-probe-address", o.ProbeAddress, "address for /healthz and /readyz; 0 for none")
	flags.StringVar(
		&o.ProfilingAddress,
		"profiling-address",
		o.ProfilingAddress,
		"loopback address for profiles at /debug/pprof/, for example 127.0.0.1:6060 (default: none)",
	)
	flags.StringVar(
		&o.Shard,
		"shard",
		o.Shard,
		"share the work with other processes: 2/5 is the second of five shards (default: do all of the work)",
	)
	l := &o.LeaderElection
	flags.BoolVar(&l.Enabled, "leader-elect", l.Enabled, "wait for a lease before working, so that several replicas may run")
	flags.StringVar(
		&l.Namespace,
		"leader-elect-namespace",
		l.Namespace,
		"namespace of the lease (default: the namespace of the pod, or of the kubeconfig's context)",
	)
	flags.DurationVar(
		&l.LeaseDuration,
		"leader-elect-lease-duration",
		l.LeaseDuration,
		"how long others wait before they take over an unrenewed lease",
	)
	flags.DurationVar(
		&l.RenewDeadline,
		"leader-elect-renew-deadline",
		l.RenewDeadline,
		"how long the leader tries to renew its lease before it gives up",
	)
	flags.DurationVar(&l.RetryPeriod, "leader-elect-retry-period", l.RetryPeriod, "time between attempts to get or renew the lease")
}

func describe(controllers []Controller) string {
	var lines []string
	for _, c := range controllers {
		lines = append(lines, fmt.Sprintf("  %s: %s", c.Name, c.Description))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Validate returns an error that names the invalid flag.
func (o *Options) Validate() error {
	if _, err := Select(o.Controllers); err != nil {
		return fmt.Errorf("--controllers: %w", err)
	}
	if o.Workers < 1 {
		return fmt.Errorf("--workers is %d: it must be at least 1", o.Workers)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Concurrent)) {
		if !known(name) {
			return fmt.Errorf("--concurrent: %w", unknownController(name))
		}
		if o.Concurrent[name] < 1 {
			return fmt.Errorf("--concurrent: %s is %d: it must be at least 1", name, o.Concurrent[name])
		}
	}
	if _, err := shard.Parse(o.Shard); err != nil {
		return fmt.Errorf("--shard: %w", err)
	}
	return errors.Join(
		o.validateDeployers(), o.Pipelines.validate(), o.Containers.validate(), o.Registries.validate(), o.LeaderElection.validate(),
		o.Quotas.validate(), o.Tenancy.validate(), o.validateProfiling(),
	)
}

// validateProfiling restricts profiles to the machine or the pod: they show the content of memory without authentication.
func (o *Options) validateProfiling() error {
	if o.ProfilingAddress == "" || o.ProfilingAddress == Disabled {
		return nil
	}
	host, _, err := net.SplitHostPort(o.ProfilingAddress)
	if err != nil {
		return fmt.Errorf("--profiling-address is %q: use the form 127.0.0.1:6060", o.ProfilingAddress)
	}
	if address, err := netip.ParseAddr(host); err != nil || !address.IsLoopback() {
		return fmt.Errorf("--profiling-address is %q, which others could reach, and profiles show what is in memory: "+
			"use 127.0.0.1 or [::1], and kubectl port-forward to get there", o.ProfilingAddress)
	}
	return nil
}

func (o *Options) validateDeployers() error {
	if _, _, err := o.DeployItemPickupTimeout.Limit(0); err != nil {
		return fmt.Errorf("--deploy-item-pickup-timeout: %w", err)
	}
	if problems := validation.IsDNS1123Subdomain(o.DeployerIdentity); o.DeployerIdentity != "" && len(problems) > 0 {
		return fmt.Errorf("--deployer-identity is %q: %s", o.DeployerIdentity, problems[0])
	}
	_, err := o.targetSelectors()
	return err
}

func (o *Options) targetSelectors() ([]deployitem.TargetSelector, error) {
	var selectors []deployitem.TargetSelector
	for _, text := range o.DeployerTargetSelectors {
		s, err := deployitem.ParseTargetSelector(text)
		if err != nil {
			return nil, fmt.Errorf("--deployer-target-selector: %w", err)
		}
		selectors = append(selectors, s)
	}
	return selectors, nil
}

// deployerOptions returns the common options of all deployers of the process.
func (o *Options) deployerOptions(controller string) deployer.Options {
	selectors, _ := o.targetSelectors() // Validate has checked them.
	return deployer.Options{
		Name:            controller,
		Version:         version.Get().Version,
		Identity:        o.DeployerIdentity,
		TargetSelectors: selectors,
		Workers:         o.workersOf(controller),
	}
}

// leaseName returns the name of the lease, which is the same for all replicas of a process, and different for processes that share the
// work.
func (o *Options) leaseName() string {
	if o.DeployerIdentity == "" {
		return LeaseName
	}
	return LeaseName + "-" + o.DeployerIdentity
}

func (l *LeaderElection) validate() error {
	if !l.Enabled {
		return nil
	}
	if l.RetryPeriod <= 0 {
		return errors.New("--leader-elect-retry-period must be positive")
	}
	if l.RenewDeadline <= l.RetryPeriod {
		return errors.New("--leader-elect-renew-deadline must be longer than --leader-elect-retry-period")
	}
	if l.LeaseDuration <= l.RenewDeadline {
		return errors.New("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline")
	}
	return nil
}

func (o *Options) workersOf(controller string) int {
	if n, ok := o.Concurrent[controller]; ok {
		return n
	}
	return o.Workers
}

// podNamespaceFile contains the namespace of a pod.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (o *Options) systemNamespace() string {
	if o.SystemNamespace != "" {
		return o.SystemNamespace
	}
	if text, err := os.ReadFile(podNamespaceFile); err == nil && len(text) > 0 {
		return strings.TrimSpace(string(text))
	}
	return metav1.NamespaceDefault
}
