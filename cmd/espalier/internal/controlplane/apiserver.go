// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiservercompatibility "k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"espalier.dev/internal/listening"
)

const (
	serviceAccountIssuer = "https://kubernetes.default.svc.cluster.local"
	serviceIPs           = "10.0.0.0/16"

	// shutdownGrace is how long open watches and connections may delay a stop.
	shutdownGrace = 2 * time.Second
)

// building serialises the construction of API servers, because Kubernetes reads and writes global variables during it.
var building sync.Mutex

type apiServerConfig struct {
	listener net.Listener
	keys     keys
	etcd     *etcdServer
	history  time.Duration

	// authentication is a file with an AuthenticationConfiguration, or empty.
	authentication string

	// nodeAddress is the address on the network of the node; nil if there is no node.
	nodeAddress net.IP
}

type apiServer struct {
	cancel context.CancelFunc

	// exited is closed when the server has ended; err is valid from then on.
	exited chan struct{}
	err    error
}

// startAPIServer returns when the server accepts connections, some time before it is ready, or soon after the context starting
// ends.
func startAPIServer(starting context.Context, config apiServerConfig) (*apiServer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	run, err := attempt(starting, config.etcd.died, func() (func(context.Context) error, error) { return buildAPIServer(ctx, config) })
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	s := &apiServer{cancel: cancel, exited: make(chan struct{})}
	go func() {
		defer close(s.exited)
		s.err = errGaveUp // unless run returns
		s.err = run(ctx)
		if s.err == nil && ctx.Err() == nil {
			s.err = errors.New("it stopped without a reason")
		}
	}()
	return s, nil
}

func buildAPIServer(ctx context.Context, config apiServerConfig) (run func(context.Context) error, err error) {
	building.Lock()
	defer building.Unlock()
	opts, err := serverOptions(config)
	if err != nil {
		return nil, err
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete the options: %w", err)
	}
	if err := utilerrors.NewAggregate(completed.Validate()); err != nil {
		return nil, fmt.Errorf("validate the options: %w", err)
	}
	serverConfig, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	completedConfig, err := serverConfig.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	server, err := app.CreateServerChain(completedConfig)
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	server.GenericAPIServer.ShutdownTimeout = shutdownGrace
	prepared, err := server.PrepareRun()
	if err != nil {
		server.GenericAPIServer.Destroy()
		return nil, fmt.Errorf("prepare: %w", err)
	}
	return prepared.Run, nil
}

func serverOptions(config apiServerConfig) (*options.ServerRunOptions, error) {
	address, ok := config.listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("listener %v is not TCP", config.listener.Addr())
	}
	registry := compatibility.NewComponentGlobalsRegistry()
	version := apiservercompatibility.DefaultBuildEffectiveVersion()
	if err := registry.Register(compatibility.DefaultKubeComponent, version, utilfeature.DefaultMutableFeatureGate.DeepCopy()); err != nil {
		return nil, fmt.Errorf("register the version: %w", err)
	}
	if err := registry.Set(); err != nil {
		return nil, fmt.Errorf("set the version: %w", err)
	}

	o := options.NewServerRunOptions()
	o.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	o.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = shutdownGrace
	o.Etcd.StorageConfig.Transport.ServerList = []string{config.etcd.url}
	if config.history > 0 {
		o.Etcd.StorageConfig.CompactionInterval = config.history
	}

	o.SecureServing.Listener = config.listener
	o.SecureServing.BindAddress = address.IP
	o.SecureServing.BindPort = address.Port
	o.SecureServing.ExternalAddress = address.IP
	o.SecureServing.ServerCert.CertKey.CertFile = config.keys.serverCertFile
	o.SecureServing.ServerCert.CertKey.KeyFile = config.keys.serverKeyFile

	o.Authentication.Anonymous.Allow = false
	o.Authentication.AuthenticationConfigFile = config.authentication
	o.Authentication.ClientCert.ClientCA = config.keys.caFile
	o.Authentication.ServiceAccounts.Issuers = []string{serviceAccountIssuer}
	o.Authentication.ServiceAccounts.KeyFiles = []string{config.keys.serviceAccountKeyFile}
	o.ServiceAccountSigningKeyFile = config.keys.serviceAccountKeyFile
	o.Authorization.Modes = []string{"RBAC"}

	// Without cluster controllers no namespace has its default service account, and
	// the plugin would reject every pod. Beside a node they always run.
	o.Admission.GenericAdmission.DisablePlugins = []string{"ServiceAccount"}
	o.AllowPrivileged = true
	o.EndpointReconcilerType = "none" // Endpoints may not hold loopback addresses.
	o.ServiceClusterIPRanges = serviceIPs
	o.Features.EnableProfiling = false
	if config.nodeAddress != nil {
		forNode(o, config)
	}
	return o, nil
}

// stop waits until the server has ended.
func (s *apiServer) stop() error {
	s.cancel()
	<-s.exited
	if s.err != nil {
		return fmt.Errorf("stop the API server: %w", s.err)
	}
	return nil
}

// listen opens the wanted port on loopback. Zero means the previous port if it is free, else any free port.
func listen(wanted, former int) (net.Listener, error) {
	if wanted == 0 && former != 0 {
		if listener, err := listenOn(former); err == nil {
			return listener, nil
		}
	}
	listener, err := listenOn(wanted)
	if listening.InUse(err) {
		return nil, fmt.Errorf("port %d on 127.0.0.1 is in use by another process: choose another port, or 0 for any free one", wanted)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	return listener, nil
}

func listenOn(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
