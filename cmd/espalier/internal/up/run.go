// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/node"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/definitions"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/telemetry/otlp"
	"espalier.dev/internal/version"
	"espalier.dev/internal/web"
)

const (
	// program is what this command calls itself in requests and traces.
	program = "espalier-up"
	// fieldOwner marks what this command writes.
	fieldOwner = "espalier-up"
)

// run returns when the context is done and everything has stopped, or when something
// has failed.
func run(ctx context.Context, opts options) (err error) {
	saveMemory()
	progress := newProgress(opts.streams.ErrOut, quietTime)
	defer progress.end()
	starting, started := context.WithTimeoutCause(ctx, opts.startLimit, errTooLong)
	defer started()
	ui, err := listenUI(opts)
	if err != nil {
		return err
	}
	if ui != nil {
		defer ui.Close() // closed already unless the start fails
	}
	cluster, err := startCluster(ctx, opts, progress)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()

	group, life := errgroup.WithContext(ctx)
	s := &services{opts: opts, cp: cluster.cp, node: cluster.node, ui: ui, group: group, stopTraces: func() {}}
	defer func() { s.stopTraces() }() // after the controllers, whose last spans it sends
	if err := s.start(life, starting, progress); err != nil {
		return interrupted(ctx, errors.Join(progress.explain(err, opts.startLimit), s.abandon()))
	}
	progress.end()
	printSummary(opts, s.summary())
	group.Go(func() error { returnMemory(life); return nil })
	return group.Wait()
}

// errTooLong ends a start that hangs.
var errTooLong = errors.New("it takes too long")

// interrupted forgives a start that the user has cut short.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// services are what runs on top of the control plane.
type services struct {
	opts  options
	cp    *controlplane.ControlPlane
	node  *node.Node // nil if there is none
	ui    net.Listener
	group *errgroup.Group // of what runs

	stop    context.CancelFunc
	crds    int
	log     string
	logger  logr.Logger
	kept    *web.LogKeeper // what the controllers say of deploy items, for the web UI
	manager *manager.Manager
	// stopTraces sends what is left of traces.
	stopTraces func()
	// uiAddress opens the web UI once.
	uiAddress string
}

// start returns when everything works. What it starts ends with the life, and its
// errors go to the group and end the life.
func (s *services) start(life, starting context.Context, progress *progress) error {
	life, s.stop = context.WithCancel(life)
	ctx, cancel := context.WithCancelCause(starting) // Waiting for what has failed is in vain.
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	s.group.Go(func() error { return (&cluster{cp: s.cp, node: s.node}).untilLost(life) })
	log, name, err := openLog(s.opts, s.cp.DataDir())
	if err != nil {
		return err
	}
	s.kept = web.NewLogKeeper()
	log = s.kept.Beside(log)
	s.log, s.logger = name, log
	ctrl.SetLogger(log) // before anybody logs, or controller-runtime complains on the terminal
	if s.stopTraces, err = otlp.Start(life, program, os.Getenv, log); err != nil {
		s.stopTraces = func() {}
		return err
	}
	config := s.cp.RESTConfig()
	config.UserAgent = version.UserAgent(program)

	progress.step("installing the custom resources")
	if err := s.installCRDs(ctx, config); err != nil {
		return err
	}
	if err := installPolicies(ctx, config); err != nil {
		return err
	}
	progress.step("starting the controllers")
	if err := s.startManager(life, ctx, config); err != nil {
		return err
	}
	if s.ui != nil {
		if err := s.startUI(life, config); err != nil {
			return err
		}
	}
	for _, name := range s.opts.examples {
		progress.step("creating the example " + name)
		if err := createExample(ctx, s.manager.GetClient(), name); err != nil {
			return err
		}
	}
	return nil
}

// startUI serves the web UI for the user of this machine, whom the address in the summary lets in.
func (s *services) startUI(life context.Context, config *rest.Config) error {
	standard, err := artifact.ParseDefault(s.opts.manager.Registries.DefaultRepositoryContext)
	if err != nil {
		return err
	}
	server, err := web.New(web.Options{
		Config: config, Mode: web.Local, ClusterName: "espalier up", Log: s.manager.GetLogger().WithName("web-ui"), Logs: s.kept,
		DefaultRepository: standard, Inspectors: map[lsv1alpha1.DeployItemType]offline.Inspector{lsv1alpha1.DeployItemTypeHelm: helm.Preview},
	})
	if err != nil {
		return err
	}
	s.uiAddress = server.NewAddress(s.ui.Addr())
	s.group.Go(func() error { return server.Serve(life, s.ui) })
	return nil
}

// abandon ends what has been started and returns what went wrong there.
func (s *services) abandon() error {
	s.stop()
	return s.group.Wait()
}

// installCRDs applies the definitions over those of any version: this is the only Espalier of its control plane.
func (s *services) installCRDs(ctx context.Context, config *rest.Config) error {
	changes, err := definitions.Install(ctx, config, definitions.Options{Owner: fieldOwner, Version: version.Get().Version, Back: true})
	s.crds = len(changes)
	return err
}

// startManager returns when the controllers' caches are filled.
func (s *services) startManager(life, starting context.Context, config *rest.Config) error {
	var err error
	if s.opts.manager.Registries.CacheDirectory == "" {
		s.opts.manager.Registries.CacheDirectory = filepath.Join(s.cp.DataDir(), "registry-cache")
	}
	if s.manager, err = manager.New(config, s.opts.manager, s.logger); err != nil {
		return err
	}
	s.group.Go(func() error { return s.manager.Start(life) })
	select {
	case <-s.manager.Elected(): // Without an election: when everything is started.
	case <-starting.Done():
		return context.Cause(starting)
	}
	if !s.manager.GetCache().WaitForCacheSync(starting) {
		return fmt.Errorf("fill the controllers' caches: %w", context.Cause(starting))
	}
	return nil
}

// listenUI takes a free port if the default one is taken. Nothing is encrypted there, so nobody else may reach it.
func listenUI(opts options) (net.Listener, error) {
	if opts.uiAddr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", opts.uiAddr)
	if err != nil && !opts.uiAddrChosen {
		listener, err = net.Listen("tcp", anyUIAddr)
	}
	if err != nil {
		return nil, fmt.Errorf("--ui-addr: %w: choose another address, or leave it empty for no web UI", err)
	}
	if !web.IsLoopback(listener.Addr().String()) {
		return nil, errors.Join(listener.Close(), fmt.Errorf("--ui-addr is %s, which others can reach, and nothing is encrypted there: "+
			"use an address of this machine alone, such as %s, and reach it from elsewhere through a tunnel (ssh -L)", opts.uiAddr, defaultUIAddr))
	}
	return listener, nil
}
