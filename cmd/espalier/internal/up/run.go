// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/config/crd"
	"espalier.dev/internal/dashboard"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/version"
)

// stopTimeout bounds the shutdown. It ends only what hangs.
const stopTimeout = 30 * time.Second

// run returns when the context is done and everything has stopped, or when something
// has failed.
func run(ctx context.Context, opts options) (err error) {
	progress := newProgress(opts.streams.ErrOut, quietTime)
	defer progress.end()
	ui, err := listenUI(opts)
	if err != nil {
		return err
	}
	if ui != nil {
		defer ui.Close() // closed already unless the start fails
	}
	cp, err := controlplane.Start(ctx, controlplane.Options{
		DataDir: opts.dataDir, Port: opts.port, Kubeconfig: opts.kubeconfig,
		ClusterControllers: true, Progress: progress.step,
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, stopControlPlane(cp)) }()

	s := &services{opts: opts, cp: cp, ui: ui}
	group, ctx := errgroup.WithContext(ctx)
	if err := s.start(ctx, group, progress); err != nil {
		return interrupted(ctx, errors.Join(err, group.Wait()))
	}
	progress.end()
	printSummary(opts, s.summary())
	return group.Wait()
}

// interrupted forgives a start that the user has cut short.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func stopControlPlane(cp *controlplane.ControlPlane) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return cp.Stop(ctx)
}

// services are what runs on top of the control plane.
type services struct {
	opts options
	cp   *controlplane.ControlPlane
	ui   net.Listener
	crds int
	log  string
}

// start returns when everything works. What it starts ends with the context, and its
// errors go to the group.
func (s *services) start(ctx context.Context, group *errgroup.Group, progress *progress) error {
	group.Go(func() error {
		select {
		case <-s.cp.Done():
			return s.cp.Err()
		case <-ctx.Done():
			return nil
		}
	})
	config := s.cp.RESTConfig()
	config.UserAgent = version.UserAgent("espalier-up")

	progress.step("installing the custom resources")
	if err := s.installCRDs(ctx, config); err != nil {
		return err
	}
	progress.step("starting the controllers")
	mgr, err := s.startManager(ctx, group, config)
	if err != nil {
		return err
	}
	if s.ui != nil {
		options := dashboard.Options{Reader: mgr.GetClient(), Log: mgr.GetLogger().WithName("dashboard")}
		group.Go(func() error { return dashboard.Serve(ctx, s.ui, options) })
	}
	if s.opts.example != "" {
		progress.step("creating the example")
		return createExample(ctx, mgr.GetClient(), s.opts.example)
	}
	return nil
}

func (s *services) installCRDs(ctx context.Context, config *rest.Config) error {
	crds, err := crd.All()
	if err != nil {
		return err
	}
	s.crds = len(crds)
	return installCRDs(ctx, config, crds)
}

// startManager returns when the controllers' caches are filled.
func (s *services) startManager(ctx context.Context, group *errgroup.Group, config *rest.Config) (ctrl.Manager, error) {
	log, name, err := openLog(s.opts, s.cp.DataDir())
	if err != nil {
		return nil, err
	}
	s.log = name
	ctrl.SetLogger(log)
	options := manager.DefaultOptions()
	options.LeaderElection.Enabled = false
	options.MetricsAddress, options.ProbeAddress = manager.Disabled, manager.Disabled
	options.Pipelines.ApprovalAddress = manager.Disabled
	mgr, err := manager.New(config, options, log)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return mgr.Start(ctx) })
	select {
	case <-mgr.Elected(): // Without an election: when everything is started.
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("fill the controllers' caches: %w", context.Cause(ctx))
	}
	return mgr, nil
}

// listenUI takes a free port if the default one is taken.
func listenUI(opts options) (net.Listener, error) {
	if opts.uiAddr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", opts.uiAddr)
	if err != nil && !opts.uiAddrChosen {
		listener, err = net.Listen("tcp", anyUIAddr)
	}
	if err != nil {
		return nil, fmt.Errorf("--ui-addr: %w: choose another address, or leave it empty for no dashboard", err)
	}
	return listener, nil
}

// newClient is for objects of any kind.
func newClient(config *rest.Config) (client.Client, error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}
