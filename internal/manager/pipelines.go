// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/approval"
	"espalier.dev/internal/controller/pipelines"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/pipeline"
)

// PipelineOptions configure how pipelines promote, and how approvals arrive.
type PipelineOptions struct {
	// EventsAddress is the URL at which Flux's notification-controller accepts events. Empty means that there is none.
	EventsAddress string
	// PollInterval is how often repositories are polled for changes of open pull requests.
	PollInterval time.Duration
	// RolloutDeadline is how long a promotion may take to roll out before it counts as stalled.
	RolloutDeadline time.Duration

	// ApplicationKinds are the kinds that pipelines may follow, each as KIND.GROUP.
	ApplicationKinds []string

	// ApprovalAddress is the address for signed approvals and webhook calls of Git servers: host:port, or Disabled.
	ApprovalAddress string
	// ApprovalCertificate and ApprovalKey are files; with them the server uses TLS.
	ApprovalCertificate, ApprovalKey string
	// ApprovalTrustedProxies are networks whose X-Forwarded-For is trusted.
	ApprovalTrustedProxies []string
	// LegacySignatures accepts approvals that sign only the body, UnsignedApprovals those without a signature where no Secret is named.
	LegacySignatures, UnsignedApprovals bool
}

func defaultPipelineOptions() PipelineOptions {
	options := PipelineOptions{PollInterval: 30 * time.Second, RolloutDeadline: time.Hour, ApprovalAddress: approval.DefaultAddress}
	for _, kind := range pipeline.DefaultKinds() {
		options.ApplicationKinds = append(options.ApplicationKinds, kind.String())
	}
	return options
}

func (o *PipelineOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(
		&o.EventsAddress,
		"events-address",
		o.EventsAddress,
		"URL of Flux's notification-controller, to which pipelines with the strategy notification send their events,\nfor example http://notification-controller.flux-system.svc.cluster.local./ (default: none; Kubernetes Events are always created)",
	)
	flags.DurationVar(
		&o.PollInterval,
		"pull-request-poll-interval",
		o.PollInterval,
		"how often to poll a repository with open pull requests; webhook calls trigger an earlier poll",
	)
	flags.DurationVar(
		&o.RolloutDeadline,
		"rollout-deadline",
		o.RolloutDeadline,
		"how long a promotion may take to arrive in an environment before it counts as stalled",
	)
	flags.StringSliceVar(
		&o.ApplicationKinds,
		"application-kinds",
		o.ApplicationKinds,
		"kinds that spec.appRef of pipelines may name, each as KIND.GROUP; others are neither read nor watched",
	)
	flags.StringVar(
		&o.ApprovalAddress,
		"approval-address",
		o.ApprovalAddress,
		"address for signed approvals and calls of Git servers; 0 for none",
	)
	flags.StringVar(
		&o.ApprovalCertificate,
		"approval-tls-certificate",
		o.ApprovalCertificate,
		"file with the certificate of that server; together with --approval-tls-key it turns on TLS",
	)
	flags.StringVar(&o.ApprovalKey, "approval-tls-key", o.ApprovalKey, "file with the key of that certificate")
	flags.StringSliceVar(
		&o.ApprovalTrustedProxies,
		"approval-trusted-proxies",
		o.ApprovalTrustedProxies,
		"networks such as 10.0.0.0/8 whose X-Forwarded-For headers are trusted (default: none)",
	)
	flags.BoolVar(
		&o.LegacySignatures,
		"approval-legacy-signatures",
		o.LegacySignatures,
		"also accept approvals that are only signed over the body; anyone who has seen one can replay it for anything",
	)
	flags.BoolVar(
		&o.UnsignedApprovals,
		"approval-unsigned",
		o.UnsignedApprovals,
		"accept approvals from everyone who reaches the server, for promotions whose strategy names no Secret",
	)
}

func (o *PipelineOptions) validate() error {
	if o.EventsAddress != "" {
		address, err := url.Parse(o.EventsAddress)
		if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
			return errors.New("--events-address is not a URL: use http://HOST/ or https://HOST/")
		}
	}
	if o.PollInterval < time.Second {
		return fmt.Errorf("--pull-request-poll-interval is %s: it must be at least 1s", o.PollInterval)
	}
	if o.RolloutDeadline <= 0 {
		return errors.New("--rollout-deadline must be positive")
	}
	if _, err := o.trustedProxies(); err != nil {
		return err
	}
	if _, err := o.applicationKinds(); err != nil {
		return err
	}
	if (o.ApprovalCertificate == "") != (o.ApprovalKey == "") {
		return errors.New("--approval-tls-certificate and --approval-tls-key must be set together")
	}
	return nil
}

func (o *PipelineOptions) trustedProxies() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range o.ApprovalTrustedProxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--approval-trusted-proxies: %q is not a network: use the form 10.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// applicationKinds parses the kinds. It rejects kinds of the core group, which has no applications, but Secrets.
func (o *PipelineOptions) applicationKinds() ([]schema.GroupKind, error) {
	var kinds []schema.GroupKind
	for _, text := range o.ApplicationKinds {
		kind := schema.ParseGroupKind(text)
		if kind.Kind == "" || !strings.Contains(kind.Group, ".") {
			return nil, fmt.Errorf(
				"--application-kinds: %q is not a kind: use KIND.GROUP, for example HelmRelease.helm.toolkit.fluxcd.io",
				text,
			)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// setupPipelines adds the controller of pipelines and the server for approvals.
func setupPipelines(mgr ctrl.Manager, opts Options) error {
	o := opts.Pipelines
	kinds, err := o.applicationKinds()
	if err != nil {
		return err
	}
	controller, err := pipelines.Setup(mgr, pipelines.Options{
		Workers:          opts.workersOf(pipelines.Name),
		ApplicationKinds: kinds,
		EventsAddress:    o.EventsAddress,
		PollInterval:     o.PollInterval,
		RolloutDeadline:  o.RolloutDeadline,
		Dialer:           dialRules(mgr),
	})
	if err != nil || o.ApprovalAddress == Disabled {
		return err
	}
	direct, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return fmt.Errorf("build a client for approvals: %w", err)
	}
	proxies, err := o.trustedProxies()
	if err != nil {
		return err
	}
	server, err := approval.New(approval.Options{
		Client: direct, Wake: controller.LookNow, Delivered: controller.Delivered,
		Address: o.ApprovalAddress, CertificateFile: o.ApprovalCertificate, KeyFile: o.ApprovalKey, TrustedProxies: proxies,
		BodySignatures: o.LegacySignatures, Unsigned: o.UnsignedApprovals, Log: mgr.GetLogger().WithName("approval"),
	})
	if err != nil {
		return fmt.Errorf("set up the server for approvals: %w", err)
	}
	return mgr.Add(server)
}

// dialRules permit addresses of this machine only if the API server itself is there.
func dialRules(mgr ctrl.Manager) dial.Rules {
	return dial.Rules{AllowLoopback: dial.IsLoopback(mgr.GetConfig().Host)}
}
