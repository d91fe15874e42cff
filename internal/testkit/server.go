// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"espalier.dev/internal/testkit/apiserver"
	"espalier.dev/internal/testkit/program"
)

// APIServer is a real API server in a sub-process. Its methods may be called from several goroutines.
type APIServer struct {
	options apiserver.Options
	dir     string

	mutex   sync.Mutex
	process *apiserver.Process
	starts  int // how often it was started; shows a recorder whether the test itself caused a lost watch
	access  access

	installing sync.Mutex
	installed  map[string]apiextensionsv1.CustomResourceDefinitionSpec // by name
}

// access is everything derived from the kubeconfig. Each start replaces it as a whole.
type access struct {
	config  *rest.Config
	client  client.WithWatch
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
}

// Option changes how NewServer runs a server.
type Option func(*settings)

type settings struct {
	persistent  bool
	controllers bool
	projectCRDs bool
	providers   string
}

// Persistent keeps the server's data until the end of the test, so that it can be stopped and restarted.
func Persistent() Option { return func(s *settings) { s.persistent = true } }

// ClusterControllers also runs the parts of Kubernetes that collect garbage, empty deleted namespaces and the like.
func ClusterControllers() Option { return func(s *settings) { s.controllers = true } }

// ProjectCRDs installs the project's CRDs. Without it a private server is bare, like a target cluster.
func ProjectCRDs() Option { return func(s *settings) { s.projectCRDs = true } }

// Authentication makes the server accept tokens of the identity providers in a file with an AuthenticationConfiguration.
func Authentication(file string) Option { return func(s *settings) { s.providers = file } }

var shared struct {
	once   sync.Once
	server *APIServer
	err    error
	ends   ends

	withOthers bool // see MainWithOthers
}

// Server returns the API server that all tests of this process share, with the project's CRDs installed. The first caller starts it. Each
// test works in its own Namespace.
func Server(t testing.TB) *APIServer {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = startShared() })
	if shared.err != nil {
		t.Fatalf("the shared API server: %v", shared.err)
	}
	if err := shared.server.fallen(); err != nil {
		t.Fatal(err)
	}
	return shared.server
}

func startShared() (*APIServer, error) {
	if kubeconfig := os.Getenv(TogetherVariable); kubeconfig != "" && shared.withOthers {
		return join(kubeconfig)
	}
	return startInTemporaryFolder(apiserver.Options{})
}

func startInTemporaryFolder(options apiserver.Options) (*APIServer, error) {
	dir, err := os.MkdirTemp("", "espalier-testkit-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the kubeconfig: %w", err)
	}
	s, err := startWithCRDs(context.Background(), dir, options)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

var commonCluster struct {
	once   sync.Once
	server *APIServer
	err    error
}

// ServerWithControllers is Server with the parts of Kubernetes that collect garbage, empty deleted namespaces and the like.
// It is another server, which no other process uses.
func ServerWithControllers(t testing.TB) *APIServer {
	t.Helper()
	commonCluster.once.Do(func() { commonCluster.server, commonCluster.err = startCluster() })
	if commonCluster.err != nil {
		t.Fatalf("the shared API server with controllers: %v", commonCluster.err)
	}
	if err := commonCluster.server.fallen(); err != nil {
		t.Fatal(err)
	}
	return commonCluster.server
}

func startCluster() (*APIServer, error) {
	s, err := startInTemporaryFolder(apiserver.Options{ClusterControllers: true})
	if err != nil {
		return nil, err
	}
	end := func() error { return errors.Join(s.stop(), os.RemoveAll(s.dir)) }
	if err := AtEnd(end); err != nil {
		return nil, errors.Join(err, end())
	}
	return s, nil
}

func startWithCRDs(ctx context.Context, dir string, options apiserver.Options) (*APIServer, error) {
	s := &APIServer{dir: dir, options: options}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.installProjectCRDs(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// TogetherVariable names the environment variable with the path of the kubeconfig of a server with the project's CRDs. Package together
// sets it.
const TogetherVariable = "ESPALIER_TEST_CLUSTER"

// Host starts a server that processes with TogetherVariable can join, with its files in a folder, and returns its kubeconfig.
func Host(ctx context.Context, dir string) (kubeconfig string, stop func() error, err error) {
	s, err := startWithCRDs(ctx, dir, apiserver.Options{})
	if err != nil {
		return "", nil, err
	}
	return s.Kubeconfig(), s.stop, nil
}

// MainWithOthers is Main for packages whose tests stay in their own namespaces, and make no assumptions about the rest of the cluster. They
// may share their server with other packages, which saves a start.
func MainWithOthers(m *testing.M, kinds ...func(*runtime.Scheme) error) {
	shared.withOthers = true
	Main(m, kinds...)
}

// Main runs the tests of a package and stops the shared server after them:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
// Without it the server stops by itself when the test process ends; with it, the process waits for a clean end. Tests
// with their own kinds pass the functions that add them to a Scheme.
func Main(m *testing.M, kinds ...func(*runtime.Scheme) error) {
	ownKinds = kinds
	shared.ends.await()
	crlog.SetLogger(controllerLog())
	code := m.Run()
	if err := errors.Join(shared.ends.run(), stopShared()); err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// LogVariable names the environment variable that makes the controllers under test log to standard error, if it is set.
const LogVariable = "ESPALIER_TEST_LOG"

func controllerLog() logr.Logger {
	if os.Getenv(LogVariable) == "" {
		return logr.Discard()
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
}

func stopShared() error {
	if shared.server == nil {
		return nil
	}
	if shared.server.dir == "" { // It belongs to another process.
		return nil
	}
	return errors.Join(shared.server.stop(), os.RemoveAll(shared.server.dir))
}

// NewServer starts an API server for this test alone: a target cluster, or one that the test will stop and start.
func NewServer(t testing.TB, options ...Option) *APIServer {
	t.Helper()
	var chosen settings
	for _, option := range options {
		option(&chosen)
	}
	s := &APIServer{dir: t.TempDir()}
	s.options.ClusterControllers, s.options.Authentication = chosen.controllers, chosen.providers
	if chosen.persistent {
		s.options.DataDir = filepath.Join(s.dir, "data")
	}
	s.Start(t)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	if chosen.projectCRDs {
		if err := s.installProjectCRDs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Start starts a stopped server again, on the same port and with the same data and credentials.
func (s *APIServer) Start(t testing.TB) {
	t.Helper()
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Stop shuts the server down regularly. Only a Persistent server can be restarted.
func (s *APIServer) Stop(t testing.TB) {
	t.Helper()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server and its etcd at once, as a crash does.
func (s *APIServer) Kill() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

func (s *APIServer) start(ctx context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.process != nil {
		return errors.New("the API server is running already")
	}
	if s.starts > 0 && s.options.DataDir == "" {
		return errors.New("the API server kept no data to start with: create it with testkit.Persistent()")
	}
	binary, err := program.APIServer.Binary(ctx, os.Stderr)
	if err != nil {
		return err
	}
	s.options.Binary = binary
	s.options.Kubeconfig = filepath.Join(s.dir, "kubeconfig")
	process, err := apiserver.Start(ctx, s.options)
	if err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		process.Kill()
		return err
	}
	s.process = process
	s.starts++
	return nil
}

// connect reads the kubeconfig of the server. A restart does not change it, so the clients stay, with their discovery caches: a test may
// wait for something while the server is down.
func (s *APIServer) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", s.options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the API server: %w", err)
	}
	config.QPS = -1
	address, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("read the address of the API server: %w", err)
	}
	if s.options.Port, err = strconv.Atoi(address.Port()); err != nil {
		return fmt.Errorf("read the port of the API server from %q: %w", config.Host, err)
	}
	if reflect.DeepEqual(s.access.config, config) {
		return nil
	}
	s.access, err = newAccess(config)
	return err
}

func newAccess(config *rest.Config) (access, error) {
	scheme, err := Scheme()
	if err != nil {
		return access{}, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return access{}, fmt.Errorf("connect to the API server: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return access{}, fmt.Errorf("connect to the API server: %w", err)
	}
	typed, err := client.NewWithWatch(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return access{}, fmt.Errorf("connect to the API server: %w", err)
	}
	untyped, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return access{}, fmt.Errorf("connect to the API server: %w", err)
	}
	return access{config: config, client: typed, dynamic: untyped, mapper: mapper}, nil
}

func (s *APIServer) stop() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	return process.Stop()
}

func (s *APIServer) current() access {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.access
}

func (s *APIServer) startCount() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.starts
}

// fallen returns an error if the server has ended unexpectedly. A stopped server has not: it may come back.
func (s *APIServer) fallen() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.Exited():
		return fmt.Errorf("the API server has ended on its own\n%s", s.process.Output())
	default:
		return nil
	}
}

// Config returns a fresh copy of the administrator's client configuration, without a rate limit.
func (s *APIServer) Config() *rest.Config { return rest.CopyConfig(s.current().config) }

// Client returns an uncached client with the administrator's rights that knows the types of Scheme.
func (s *APIServer) Client() client.WithWatch { return s.current().client }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (s *APIServer) Kubeconfig() string { return s.options.Kubeconfig }
