// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// readyPollInterval is the interval of the readiness probe: a starting API server offers nothing to watch yet.
const readyPollInterval = 25 * time.Millisecond

// DefaultName names the context, cluster and user in kubeconfigs.
const DefaultName = "espalier-local"

// Options configure what to start. The zero value is an ephemeral control plane on a free port.
type Options struct {
	// DataDir stores the state between runs. It must be absent, empty or an earlier data directory. Empty means ephemeral: a temporary
	// directory that Stop removes, and an etcd that does not sync to disk.
	DataDir string

	// Port on 127.0.0.1. Zero takes the port that the data directory used last if it
	// is free, else any free one.
	Port int

	// Kubeconfig is a file that receives the administrator's kubeconfig once the server is ready. Other entries of an existing file are kept.
	// The data directory always has its own kubeconfig. An ephemeral control plane removes its entries when it stops.
	Kubeconfig string

	// Name of the kubeconfig's context, cluster and user. Empty means DefaultName.
	Name string

	// ClusterControllers also runs namespace deletion, garbage collection, cluster
	// role aggregation, default service accounts and tokens of service accounts.
	ClusterControllers bool

	// Authentication is a file with an AuthenticationConfiguration of Kubernetes, which
	// names identity providers whose tokens are accepted. Empty means none.
	Authentication string

	// NodeAddress is an address of this machine on the network of a node. The API server then also listens there, and treats pods as a cluster
	// does that runs them. Nil means that there is no node.
	NodeAddress net.IP

	// Log receives the logs of etcd and Kubernetes. Nil means the file
	// control-plane.log in the data directory.
	Log io.Writer

	// History is how often old versions of objects are dropped; a watch can resume where it ended while they exist. They can be many
	// times as large as the objects. Zero means the default of Kubernetes, five minutes.
	History time.Duration

	// StartLimit is how long the start may take. Zero means DefaultStartLimit.
	StartLimit time.Duration

	// Progress, if set, is called with each step of the start just before it begins.
	Progress func(step string)
}

// DefaultStartLimit is generous even for a slow machine.
const DefaultStartLimit = 5 * time.Minute

// abandonTime limits the clean-up after a failed Start, in case it hangs.
const abandonTime = 8 * time.Second

// burialTime limits the wait for parts that exited unexpectedly, or were interrupted.
const burialTime = 3 * time.Second

// ControlPlane is a running etcd and kube-apiserver.
type ControlPlane struct {
	dir       *dataDir
	apiserver *apiServer
	etcd      *etcdServer
	access    access

	// nodeAddress is Options.NodeAddress.
	nodeAddress net.IP

	// cleanups undo the start, last one first: the shutdown order that the package comment guarantees.
	cleanups []func() error

	stopOnce sync.Once
	stopping chan struct{}
	stopped  chan struct{}
	stopErr  error

	done chan struct{}
	err  error
}

// Start starts a control plane and returns when its API server is ready. The context limits only the start; a started control plane runs
// until Stop.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	if opts.Name == "" {
		opts.Name = DefaultName
	}
	cp := &ControlPlane{
		nodeAddress: opts.NodeAddress,

		stopping: make(chan struct{}),
		stopped:  make(chan struct{}),
		done:     make(chan struct{}),
	}
	if err := cp.startInTime(ctx, opts); err != nil {
		return nil, errors.Join(err, cp.abandon(ctx))
	}
	go cp.watchDeath()
	return cp, nil
}

// abandon undoes a start that has failed or was interrupted. It returns in time even if a part hangs.
func (cp *ControlPlane) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	return cp.shutDown(ctx)
}

// startInTime limits the time of a start. Its error names the step at which the start hangs.
func (cp *ControlPlane) startInTime(ctx context.Context, opts Options) error {
	limit := cmp.Or(opts.StartLimit, DefaultStartLimit)
	tell, step := opts.Progress, "opening the data directory"
	opts.Progress = func(next string) {
		step = next
		if tell != nil {
			tell(next)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	err := cp.start(ctx, opts)
	if errors.Is(err, errTooLong) {
		return fmt.Errorf(
			"%s takes longer than %s: %w: if this happens every time, move or delete the data directory",
			step,
			limit,
			err,
		)
	}
	return err
}

var errTooLong = errors.New("the control plane is not ready in time")

func (cp *ControlPlane) start(ctx context.Context, opts Options) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	dir, err := openDataDir(opts.DataDir)
	if err != nil {
		return err
	}
	cp.dir = dir
	cp.onStop(dir.close)

	log, err := openLog(opts.Log, dir)
	if err != nil {
		return err
	}
	cp.onStop(log.close)

	if err := cp.startServers(ctx, opts, log); err != nil {
		return err
	}
	if err := cp.publish(opts); err != nil {
		return err
	}
	if opts.ClusterControllers {
		opts.Progress("starting the cluster controllers")
		stop, err := startClusterControllers(cp.RESTConfig(), cp.access.keys.serviceAccountKeyFile)
		if err != nil {
			return err
		}
		cp.onStop(stop)
	}
	return nil
}

// startServers returns when the API server answers as ready.
func (cp *ControlPlane) startServers(ctx context.Context, opts Options, log *logSink) error {
	listener, err := listen(opts.Port, cp.dir.state.Port)
	if err != nil {
		return err
	}
	loopback := listener
	cp.onStop(func() error { return ignoreClosed(loopback.Close()) })

	var addresses []net.IP
	if opts.NodeAddress != nil {
		addresses = append(addresses, opts.NodeAddress)
		wider, err := listenOnBoth(listener, opts.NodeAddress)
		if err != nil {
			return err
		}
		listener = wider
		cp.onStop(func() error { return ignoreClosed(wider.Close()) })
	}
	keys, err := openKeys(cp.dir.path(keyFolder), time.Now(), addresses...)
	if err != nil {
		return err
	}
	cp.access = newAccess(opts.Name, listener.Addr().String(), keys)

	opts.Progress("starting etcd")
	cp.etcd, err = startEtcd(ctx, cp.dir, log)
	if err != nil {
		return log.explain(err)
	}
	cp.onStop(cp.etcd.stop)

	opts.Progress("starting the API server")
	cp.apiserver, err = startAPIServer(ctx, apiServerConfig{
		listener: listener, keys: keys, etcd: cp.etcd, history: opts.History, authentication: opts.Authentication,
		nodeAddress: opts.NodeAddress,
	})
	if err != nil {
		return log.explain(err)
	}
	cp.onStop(cp.apiserver.stop)

	opts.Progress("waiting for the API server to be ready")
	return log.explain(cp.awaitReady(ctx, log))
}

// publish writes the address of the ready server and its kubeconfigs.
func (cp *ControlPlane) publish(opts Options) error {
	if err := cp.dir.remember(cp.access.port()); err != nil {
		return err
	}
	kubeconfig, err := cp.Kubeconfig()
	if err != nil {
		return err
	}
	if err := writeFile(cp.KubeconfigPath(), kubeconfig); err != nil {
		return err
	}
	if opts.Kubeconfig == "" {
		return nil
	}
	if err := cp.access.writeKubeconfig(opts.Kubeconfig); err != nil {
		return err
	}
	if cp.dir.ephemeral {
		cp.onStop(func() error { return cp.access.removeFromKubeconfig(opts.Kubeconfig) })
	}
	return nil
}

func (cp *ControlPlane) onStop(undo func() error) {
	cp.cleanups = append(cp.cleanups, undo)
}

func (cp *ControlPlane) teardown() error {
	var errs []error
	for i := len(cp.cleanups) - 1; i >= 0; i-- {
		errs = append(errs, cp.cleanups[i]())
	}
	cp.cleanups = nil
	return errors.Join(errs...)
}

// Stop ends the control plane and waits until it has ended. When the context is done first, Stop returns an error while the shutdown
// continues. Stopping twice is harmless. A control plane that has exited unexpectedly is cleaned up as far as possible.
func (cp *ControlPlane) Stop(ctx context.Context) error {
	select {
	case <-cp.done:
		if cp.err != nil {
			return cp.bury(ctx)
		}
	default:
	}
	return cp.stop(ctx)
}

// bury stops the remaining parts of a control plane that has exited unexpectedly. Err reports why; further errors are ignored.
func (cp *ControlPlane) bury(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*burialTime)
	defer cancel()
	_ = cp.stop(ctx)
	return nil
}

func (cp *ControlPlane) stop(ctx context.Context) error {
	if err := cp.shutDown(ctx); err != nil {
		return err
	}
	<-cp.done // follows at once; then Done and Err agree with this result
	return nil
}

// shutDown undoes the start, once.
func (cp *ControlPlane) shutDown(ctx context.Context) error {
	cp.stopOnce.Do(func() {
		close(cp.stopping)
		go func() {
			defer close(cp.stopped)
			cp.stopErr = cp.teardown()
		}()
	})
	select {
	case <-cp.stopped:
		return cp.stopErr
	case <-ctx.Done():
		return fmt.Errorf("stop the control plane: %w", context.Cause(ctx))
	}
}

// Done is closed when the control plane has ended, by Stop or unexpectedly. A control plane that exited unexpectedly still needs a Stop,
// which cleans up after it.
func (cp *ControlPlane) Done() <-chan struct{} { return cp.done }

// Err returns, once Done is closed, why the control plane exited unexpectedly. It is nil after a Stop.
func (cp *ControlPlane) Err() error { return cp.err }

func (cp *ControlPlane) watchDeath() {
	defer close(cp.done)
	var died error
	select {
	case <-cp.stopping:
	case <-cp.apiserver.exited:
		died = fmt.Errorf("the API server exited unexpectedly: %w", cp.apiserver.err)
	case err := <-cp.etcd.died:
		died = fmt.Errorf("etcd exited unexpectedly: %w", err)
	}
	select {
	case <-cp.stopping:
		<-cp.stopped
	default:
		cp.err = died
	}
}

// RESTConfig returns the configuration of an administrator's client without a client-side rate limit.
func (cp *ControlPlane) RESTConfig() *rest.Config { return cp.access.restConfig() }

// URL returns the URL of the API server.
func (cp *ControlPlane) URL() string { return cp.access.url() }

// Kubeconfig returns a kubeconfig for the administrator.
func (cp *ControlPlane) Kubeconfig() ([]byte, error) { return cp.access.kubeconfig() }

// KubeconfigPath returns the path of the kubeconfig in the data directory.
func (cp *ControlPlane) KubeconfigPath() string { return KubeconfigIn(cp.dir.root) }

// DataDir returns the directory with the files of the control plane.
func (cp *ControlPlane) DataDir() string { return cp.dir.root }

// lastChance is how long a server may take to become ready after a fatal error anywhere in this process.
const lastChance = time.Minute

// awaitReady returns when the server reports ready and has created its first namespaces, or when that has become impossible.
func (cp *ControlPlane) awaitReady(ctx context.Context, log *logSink) error {
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		return fmt.Errorf("create a client for the new API server: %w", err)
	}
	ticker := time.NewTicker(readyPollInterval)
	defer ticker.Stop()
	var gaveUp <-chan time.Time
	for !isReady(ctx, client) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w", context.Cause(ctx))
		case <-cp.apiserver.exited:
			return fmt.Errorf("run the API server: %w", cp.apiserver.err)
		case err := <-cp.etcd.died:
			return fmt.Errorf("run etcd: %w", err)
		case <-log.fatal:
			// The error may be from a goroutine of an earlier control plane of this process. If it is from this server, the server never becomes
			// ready.
			gaveUp = time.After(lastChance)
		case <-gaveUp:
			return errGaveUp
		case <-ticker.C:
		}
	}
	return nil
}

func isReady(ctx context.Context, client kubernetes.Interface) bool {
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return false
	}
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err == nil
}
