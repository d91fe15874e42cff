// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package web is the server of the web UI: it serves the pages, streams what they show, and carries out the actions of users.
//
// The reader's own rights limit everything that they see or do. Documents come from one mirror of the cluster, of which each reader gets
// the part that the API server says they may list; actions, and reads of values, go to the API server with the reader's own credentials. In
// local mode there is one reader, the user of the kubeconfig, whom a one-time code lets in. In cluster mode, users log in with a token of
// the API server, or with an identity provider whose tokens it accepts; tokens stay in the memory of this process.
package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/taskgroup"
	"espalier.dev/internal/version"
	"espalier.dev/internal/web/cluster"
	"espalier.dev/internal/web/hub"
	"espalier.dev/internal/web/mirror"
	"espalier.dev/internal/web/oidc"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/session"
	"espalier.dev/ui"
)

// Mode says who uses a server.
type Mode string

const (
	// Local is for the user of the kubeconfig, on their own machine.
	Local Mode = "local"
	// Cluster is for everybody who can log in to the cluster.
	Cluster Mode = "cluster"
)

// Options configure a server.
type Options struct {
	// Config connects to the cluster. In local mode it is the reader's; in cluster mode it belongs to a service account that may list what is
	// shown, and create TokenReviews and SubjectAccessReviews.
	Config *rest.Config
	Mode   Mode
	// Hosts are the names under which a server in cluster mode is reached. Requests for other names are denied.
	Hosts []string
	// Namespaces are those to show; empty means all.
	Namespaces []string
	// Key signs sessions. Without one, they end with the process.
	Key []byte
	// OIDC is the identity provider for logins in cluster mode; nil if there is none.
	OIDC *oidc.Options
	// DefaultRepository is where the controllers search for components if neither an installation nor its Context names a repository.
	DefaultRepository component.RepositoryContext
	// Inspectors say what deploy items of some types deploy, to show what a job would change.
	Inspectors map[lsv1alpha1.DeployItemType]offline.Inspector
	// ClusterName is the name of the cluster on the pages.
	ClusterName string
	// Pages are the files to serve; nil means the embedded ones.
	Pages fs.FS
	// Logs are the logs of the controllers of this process. Nil means that they run elsewhere, in pods whose logs readers may be allowed to
	// read.
	Logs *LogKeeper
	// Now is the clock. Nil means the real one.
	Now func() time.Time
	Log logr.Logger
}

// Server serves the web UI.
type Server struct {
	options Options
	clients *cluster.Maker
	self    cluster.Person // the server's own service account
	own     client.WithWatch
	mirror  *mirror.Mirror
	changes atomic.Uint64 // in the mirror
	hub     *hub.Hub
	keeper  *session.Keeper
	pages   *pages
	// tasks are checks of clusters, which outlive the request for them.
	tasks  *taskgroup.Group
	logins chan struct{}
	looks  chan struct{} // at clusters, for all readers
	shelf  *shelf

	// provider is the identity provider for logins, or nil. renewals are of tokens, by session.
	provider *oidc.Provider
	renewals singleflight.Group

	mutex   sync.Mutex
	readers map[string]*reader
	classes map[string]*heldClass
	streams map[string]int // by session
	asked   []rights.Right
	learnt  chan struct{}
	closing chan struct{}
}

// maxLogins is the maximum number of tokens checked concurrently.
const maxLogins = 4

// New returns a server that is not running yet.
func New(options Options) (*Server, error) {
	if options.Mode != Local && options.Mode != Cluster {
		return nil, fmt.Errorf("the web UI has no mode %q: use %q or %q", options.Mode, Local, Cluster)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Pages == nil {
		options.Pages = ui.Files()
	}
	provider, err := newProvider(options)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(options.Config)
	config.UserAgent = version.UserAgent("espalier-ui")
	clients, err := cluster.NewMaker(config)
	if err != nil {
		return nil, err
	}
	self, err := clients.Own()
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: options, clients: clients, self: self, own: self.Client, tasks: taskgroup.New(),
		keeper:  session.NewKeeper(session.Options{Key: options.Key, Secure: options.Mode == Cluster, Now: options.Now}),
		pages:   &pages{files: options.Pages},
		logins:  make(chan struct{}, maxLogins),
		looks:   make(chan struct{}, looksAtOnce),
		shelf:   newShelf(),
		readers: map[string]*reader{}, classes: map[string]*heldClass{}, streams: map[string]int{},
		provider: provider, asked: startRights(), learnt: make(chan struct{}), closing: make(chan struct{}),
	}
	s.hub = hub.New(s)
	s.mirror = mirror.New(mirror.Options{
		Client: s.own, Namespaces: options.Namespaces, Changed: s.changed, Log: options.Log,
	})
	return s, nil
}

// NewAddress returns an address that opens the web UI once, for a server in local mode that listens at the given address.
func (s *Server) NewAddress(listens net.Addr) string {
	return fmt.Sprintf("http://%s/open?code=%s", listens, s.keeper.NewCode())
}

const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 2 * time.Second
	maxHeaderBytes  = 64 << 10
)

// Serve answers requests until the context is done, and closes the listener. A server in local mode rejects a listener that others can
// reach: it sends everything unencrypted.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if address := listener.Addr().String(); s.options.Mode == Local && !IsLoopback(address) {
		return errors.Join(
			listener.Close(),
			fmt.Errorf("serve the web UI: others can reach %s, and what is sent there is not encrypted: listen on a loopback address", address),
		)
	}
	group, life := errgroup.WithContext(ctx)
	group.Go(func() error { s.mirror.Run(life); return nil })
	group.Go(func() error { s.hub.Run(life); return nil })
	group.Go(func() error { s.runProvider(life); return nil })
	group.Go(func() error { return s.answer(life, listener) })
	defer s.endTasks()
	return group.Wait()
}

func (s *Server) answer(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the web UI: %w", err)
	case <-ctx.Done():
	}
	close(s.closing) // End the streams, which would last forever.
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(stopCtx); err == nil {
		return nil
	}
	// A request does not end; cutting it off is no error.
	if err := server.Close(); err != nil {
		return fmt.Errorf("stop the web UI: %w", err)
	}
	return nil
}

// Handler answers requests. Streams need Serve, which fills the mirror.
func (s *Server) Handler() http.Handler {
	api := http.NewServeMux()
	s.register(api)
	mux := http.NewServeMux()
	mux.Handle("/api/", onlyOwnPages(http.MaxBytesHandler(http.NewCrossOriginProtection().Handler(api), maxBody)))
	mux.HandleFunc("GET /open", s.open)
	s.registerOIDC(mux)
	mux.Handle("/", s.pages)
	outer := http.NewServeMux()
	outer.HandleFunc("GET /healthz", healthy) // Health checks do not know our host names.
	outer.Handle("/", s.onlyOurHosts(mux))
	return withHeaders(outer)
}

func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // The client has disconnected.
}
