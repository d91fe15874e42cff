// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"espalier.dev/api"
	"espalier.dev/internal/freshness"
)

// LeaseName is the name of the lease for leader election.
const LeaseName = "espalier-controller"

// syncPatience is how long a readiness probe waits for the caches.
const syncPatience = time.Second

// Manager runs controllers.
type Manager struct {
	ctrl.Manager
	late *latecomers
}

// Waiting lists the selected controllers that do not run yet, because the cluster does not serve a kind that they need. They start
// automatically once it does. Until then the manager is not ready.
func (m *Manager) Waiting() []Waiting { return m.late.describe() }

// New builds a manager with the selected controllers. It contacts the server only to discover its kinds; nothing runs until the manager is
// started.
func New(config *rest.Config, opts Options, log logr.Logger) (*Manager, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	selected, err := Select(opts.Controllers)
	if err != nil {
		return nil, err
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	informers := &freshness.Informers{}
	options, denied := managerOptions(opts, scheme, informers, log), newDenials()
	options.Cache.DefaultWatchErrorHandler = denied.hear
	config = gated(listeningTo(config, log), opts.Workers)
	strict := opts.strictTenancy(config)
	if err := opts.electShard(config, &options); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("build the manager: %w", err)
	}
	if mgr, err = opts.arrange(freshness.Leading(mgr, informers, opts.Namespaces), strict); err != nil {
		return nil, err
	}
	if opts.registries, err = opts.Registries.open(mgr); err != nil {
		return nil, err
	}
	late := &latecomers{manager: mgr, opts: opts}
	for _, c := range selected {
		if err := late.setUp(c); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(mgr.Add(late), addProbes(mgr, late, selected), mgr.AddReadyzCheck("rights", denied.check)); err != nil {
		return nil, err
	}
	log.Info("Controllers selected", "controllers", namesOf(selected), "shard", opts.Shard)
	return &Manager{Manager: mgr, late: late}, nil
}

// NewScheme returns a scheme with the kinds of Kubernetes and of both APIs.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	return scheme, nil
}

//espalier:rights leader-election
//	get,create,update leases.coordination.k8s.io: only one of several replicas works
//	create events: who leads

func managerOptions(opts Options, scheme *runtime.Scheme, informers *freshness.Informers, log logr.Logger) ctrl.Options {
	l := opts.LeaderElection
	anyName := true
	return ctrl.Options{
		Scheme: scheme,
		Logger: log,
		Cache:  cacheOptions(opts, informers),
		// A process may run several managers, each with controllers of the same names.
		Controller:                    config.Controller{SkipNameValidation: &anyName},
		Metrics:                       server.Options{BindAddress: opts.MetricsAddress},
		HealthProbeBindAddress:        opts.ProbeAddress,
		PprofBindAddress:              opts.ProfilingAddress,
		LeaderElection:                l.Enabled,
		LeaderElectionID:              opts.leaseName(),
		LeaderElectionNamespace:       l.Namespace,
		LeaderElectionReleaseOnCancel: true, // The process ends when the manager does.
		LeaseDuration:                 &l.LeaseDuration,
		RenewDeadline:                 &l.RenewDeadline,
		RetryPeriod:                   &l.RetryPeriod,
	}
}

func cacheOptions(opts Options, informers *freshness.Informers) cache.Options {
	options := cache.Options{
		DefaultTransform: Slim,
		NewInformer:      informers.New,
	}
	for _, namespace := range opts.Namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// addProbes adds the probes: the process is alive when it answers, and ready when its caches are filled and all selected controllers can
// work. A replica that waits for the lease is also ready.
func addProbes(mgr ctrl.Manager, late *latecomers, selected []Controller) error {
	err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", func(request *http.Request) error {
			ctx, cancel := context.WithTimeout(request.Context(), syncPatience)
			defer cancel()
			if !mgr.GetCache().WaitForCacheSync(ctx) {
				return errors.New("the caches are not filled yet")
			}
			return nil
		}),
	)
	for _, c := range selected {
		err = errors.Join(err, mgr.AddReadyzCheck(c.Name, late.running(c.Name)))
	}
	if err != nil {
		return fmt.Errorf("add health checks: %w", err)
	}
	return nil
}
