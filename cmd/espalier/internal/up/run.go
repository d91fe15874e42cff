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
	"espalier.dev/cmd/espalier/internal/gitops"
	"espalier.dev/cmd/espalier/internal/node"
	"espalier.dev/examples"
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
	// program is the name of this command in requests and traces.
	program = "espalier-up"
	// fieldOwner marks the fields that this command writes.
	fieldOwner = "espalier-up"
)

// run returns when the context is done and everything has stopped, or when a part
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
var errTooLong = errors.New("timed out")

// interrupted returns no error for a start that the user has interrupted.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// services are the parts that run on top of the control plane.
type services struct {
	opts  options
	cp    *controlplane.ControlPlane
	node  *node.Node // nil if there is none
	ui    net.Listener
	gitea *gitops.Server  // nil if no example needs it
	group *errgroup.Group // of everything that runs

	stop    context.CancelFunc
	crds    int
	log     string
	logger  logr.Logger
	kept    *web.LogKeeper // keeps the controllers' log lines about deploy items, for the web UI
	manager *manager.Manager
	// stopTraces sends the remaining traces.
	stopTraces func()
	// uiAddress signs in to the web UI once.
	uiAddress string
}

// start returns when everything works. The started parts end with the context life; their errors go to the group and end life.
func (s *services) start(life, starting context.Context, progress *progress) error {
	life, s.stop = context.WithCancel(life)
	ctx, cancel := context.WithCancelCause(starting) // Stop waiting once a part has failed.
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
	ctrl.SetLogger(log) // before the first log line, or controller-runtime complains on the terminal
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
	if err := s.prepareGitea(life, ctx, progress, config); err != nil {
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
	return s.createExamples(ctx, progress)
}

// prepareGitea starts Gitea if an example needs it, and otherwise reserves the port of a kept one. It precedes the controllers, because
// objects of earlier starts make them send credentials to that port.
func (s *services) prepareGitea(life, starting context.Context, progress *progress, config *rest.Config) error {
	if s.opts.wantsGitea() {
		progress.step("starting Gitea")
		if err := s.startGitea(life, starting); err != nil {
			return err
		}
		return s.renewGitOps(starting, config)
	}
	held, err := gitops.Hold(s.cp.DataDir())
	if err != nil {
		fmt.Fprintln(s.opts.streams.ErrOut, "warning:", err)
	}
	if held != nil {
		s.group.Go(func() error {
			<-life.Done()
			return held.Close()
		})
	}
	return nil
}

func (s *services) createExamples(ctx context.Context, progress *progress) error {
	for _, name := range s.opts.examples {
		progress.step("creating the example " + name)
		if err := s.createExample(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// startGitea returns when Gitea contains everything that the example requires.
func (s *services) startGitea(life, starting context.Context) error {
	gitea, err := gitops.Start(starting, s.opts.gitea, s.cp.DataDir())
	if err != nil {
		return fmt.Errorf("--example %s: %w", examples.GitOps, err)
	}
	s.gitea = gitea
	s.group.Go(func() error { return gitea.Run(life) })
	return nil
}

// startUI serves the web UI for the user of this machine, who signs in with the address in the summary.
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

// abandon stops all started parts and returns the errors of that.
func (s *services) abandon() error {
	s.stop()
	return s.group.Wait()
}

// installCRDs overwrites CRDs of any version: this is the only Espalier of its control plane.
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
	case <-s.manager.Elected(): // Without leader election: when everything is started.
	case <-starting.Done():
		return context.Cause(starting)
	}
	if !s.manager.GetCache().WaitForCacheSync(starting) {
		return fmt.Errorf("fill the controllers' caches: %w", context.Cause(starting))
	}
	return nil
}

// listenUI uses a free port if the default one is in use. Traffic is not encrypted, so the port is not reachable from other machines.
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
