// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/nodeinit"
)

const (
	// DefaultStartLimit is generous even for a slow machine.
	DefaultStartLimit = 10 * time.Minute

	// startPace is the interval for polling conditions that cannot be watched.
	startPace = 100 * time.Millisecond

	folder = "node"
)

// Options configure what to start.
type Options struct {
	// ControlPlane was started with the Machine address of the Network as its NodeAddress.
	ControlPlane *controlplane.ControlPlane
	// Network is passed to the node, which releases it when it stops, or if it does not start.
	Network  *Network
	Programs Programs

	// StartLimit is how long the start may take. Zero means DefaultStartLimit.
	StartLimit time.Duration
	// Progress, if set, is called with each step of the start just before it begins.
	Progress func(step string)
}

// Node is a running node.
type Node struct {
	first   *firstProcess
	network *Network
	cgroup  string
	client  kubernetes.Interface

	stopping sync.Once
	stopped  chan struct{}
	stopErr  error

	done chan struct{}
	err  error
}

// Start returns when pods can run on the node. The context limits only the start; a started node runs until Stop.
func Start(ctx context.Context, opts Options) (*Node, error) {
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	limit := cmp.Or(opts.StartLimit, DefaultStartLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the node is not ready within %s", limit))
	defer cancel()
	n := &Node{
		network: opts.Network, cgroup: cgroupOf(opts.Network.owner, opts.Network.number),
		stopped: make(chan struct{}), done: make(chan struct{}),
	}
	if err := n.start(ctx, opts); err != nil {
		if n.first != nil {
			n.first.kill()
		}
		return nil, errors.Join(err, n.cleanUp(context.WithoutCancel(ctx)))
	}
	go n.watchDeath()
	return n, nil
}

func (n *Node) start(ctx context.Context, opts Options) (err error) {
	if err := Check(opts.Programs); err != nil {
		return err
	}
	if n.client, err = kubernetes.NewForConfig(opts.ControlPlane.RESTConfig()); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	opts.Progress("preparing the node")
	if err := Forget(ctx, n.client); err != nil {
		return err
	}
	config, err := n.prepare(opts)
	if err != nil {
		return err
	}
	if n.first, err = startFirst(ctx, opts.Programs.Node, filepath.Dir(config.dir)); err != nil {
		return err
	}
	if err := n.connect(ctx); err != nil {
		return err
	}
	opts.Progress("starting containerd")
	if err := n.startContainerd(ctx, opts.Programs.Pause); err != nil {
		return err
	}
	return n.startPrograms(ctx, config, opts.Progress)
}

// startPrograms lets the kubelet return first, because the controller manager removes pods whose node does not exist.
func (n *Node) startPrograms(ctx context.Context, config configuration, progress func(string)) error {
	for _, process := range config.processes() {
		progress("starting " + process.Name)
		if err := n.first.order(ctx, nodeinit.Order{Start: &process}); err != nil {
			return err
		}
		if process.Name == "kubelet" {
			if err := n.await(ctx, n.isKnown); err != nil {
				return err
			}
		}
	}
	progress("waiting for the node to be ready")
	return n.await(ctx, n.isReady)
}

func (n *Node) isKnown(ctx context.Context) error {
	_, err := n.client.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
	return err
}

// prepare creates the files and the cgroup of the node.
func (n *Node) prepare(opts Options) (configuration, error) {
	dir := filepath.Join(opts.ControlPlane.DataDir(), folder)
	for _, name := range []string{filepath.Join(etcFolder, netFolder), logFolder, kubeletFolder, containerdFolder, podLogsFolder} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return configuration{}, fmt.Errorf("create the directory of the node: %w", err)
		}
	}
	plugins, err := pluginFolder()
	if err != nil {
		return configuration{}, err
	}
	config := configuration{
		cp: opts.ControlPlane, network: n.network, cgroup: n.cgroup, plugins: plugins, dir: filepath.Join(dir, etcFolder),
	}
	return config, errors.Join(config.write(), makeCgroups(n.cgroup))
}

// connect attaches the node's end of the network.
func (n *Node) connect(ctx context.Context) error {
	if err := ip(ctx, "link", "set", n.network.inside(), "netns", fmt.Sprint(n.first.cmd.Process.Pid)); err != nil {
		return err
	}
	return n.first.order(ctx, nodeinit.Order{Network: &nodeinit.Network{
		Uplink: n.network.inside(), Bridge: bridgeName,
		Address: fmt.Sprintf("%s/%d", n.network.Node(), prefixLength), Gateway: n.network.Machine().String(),
	}})
}

// startContainerd returns when containerd has the image that holds pods together.
func (n *Node) startContainerd(ctx context.Context, pause string) error {
	process := containerdProcess()
	if err := n.first.order(ctx, nodeinit.Order{Start: &process}); err != nil {
		return err
	}
	if err := n.await(ctx, n.containerdAnswers); err != nil {
		return err
	}
	program, err := os.ReadFile(pause)
	if err != nil {
		return fmt.Errorf("read the pause program: %w", err)
	}
	archive, err := Image{Name: pauseImage, Programs: map[string][]byte{"pause": program}, Entrypoint: []string{"/pause"}}.Archive()
	if err != nil {
		return err
	}
	return n.ImportImage(ctx, bytes.NewReader(archive))
}

// await returns when the condition is met, or can no longer be met. The condition returns why it is not met.
func (n *Node) await(ctx context.Context, holds func(context.Context) error) error {
	ticker := time.NewTicker(startPace)
	defer ticker.Stop()
	for {
		missing := holds(ctx)
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start the node: %w: %w", context.Cause(ctx), missing)
		case <-n.first.over:
			return n.first.reason()
		case <-ticker.C:
		}
	}
}

func (n *Node) containerdAnswers(ctx context.Context) error {
	_, err := n.containerd(ctx, nil, "version")
	return err
}

// containerd runs containerd's own client inside the node.
func (n *Node) containerd(ctx context.Context, input io.Reader, arguments ...string) (string, error) {
	cmd := n.first.command(ctx, append([]string{"ctr", "--address", containerdSocket, "--namespace", "k8s.io"}, arguments...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// isReady queries the kubelet through the API server, and the name server directly.
func (n *Node) isReady(ctx context.Context) error {
	node, err := n.client.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if at < 0 {
		return errors.New("the kubelet has not reported yet")
	}
	if ready := node.Status.Conditions[at]; ready.Status != corev1.ConditionTrue {
		return errors.New(ready.Message)
	}
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, net.JoinHostPort(n.network.Node().String(), "53"))
	}}
	_, err = resolver.LookupHost(ctx, "kubernetes.default.svc."+domain+".")
	return err
}

// ImportImage loads the images of an archive, in the format of "docker save" or as an OCI layout, under their names in the archive. It
// returns when pods can use them.
func (n *Node) ImportImage(ctx context.Context, archive io.Reader) error {
	if _, err := n.containerd(ctx, archive, "images", "import", "-"); err != nil {
		return fmt.Errorf("import an image: %w", err)
	}
	return n.await(ctx, n.knowsImages)
}

// knowsImages returns nil when the part of containerd that serves the kubelet has registered all images, which it marks with a label.
func (n *Node) knowsImages(ctx context.Context) error {
	table, err := n.containerd(ctx, nil, "images", "list")
	if err != nil {
		return err
	}
	_, rows, _ := strings.Cut(table, "\n")
	for row := range strings.Lines(rows) {
		if !strings.Contains(row, "io.cri-containerd.image=managed") {
			return fmt.Errorf("containerd has not registered the image yet: %s", row)
		}
	}
	return nil
}

// Done is closed when the node has ended, by Stop or unexpectedly. A node that exited unexpectedly still needs a Stop.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err returns, once Done is closed, why the node exited unexpectedly. It is nil after a Stop.
func (n *Node) Err() error { return n.err }

func (n *Node) watchDeath() {
	defer close(n.done)
	<-n.first.over
	select {
	case <-n.stopped:
	default:
		n.err = n.first.reason()
	}
}

// Stop ends all processes of the node at once, as a power failure does, and removes their leftovers. Stopping twice is harmless.
func (n *Node) Stop(ctx context.Context) error {
	n.stopping.Do(func() {
		close(n.stopped)
		n.first.kill()
		_ = Forget(ctx, n.client) // The next start does it if the API server no longer answers.
		n.stopErr = n.cleanUp(ctx)
	})
	<-n.done
	return n.stopErr
}

// Forget removes the node from the API server of a control plane that runs without it, so that the API server shows no node. A node that
// returns is registered again, with the pods that were on it.
func Forget(ctx context.Context, client kubernetes.Interface) error {
	err := client.CoreV1().Nodes().Delete(ctx, Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the node of an earlier start: %w", err)
	}
	return nil
}

// cleanUp removes what does not end with the processes.
func (n *Node) cleanUp(ctx context.Context) error {
	return errors.Join(n.network.Release(ctx), removeCgroups(ctx, n.cgroup))
}
