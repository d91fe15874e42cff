// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/taskgroup"
)

// Options configure Clusters.
type Options struct {
	// Host reads Secrets in the namespaces of Targets. It is called once per call of For or Content that involves a Secret.
	Host client.Reader

	// HostConfig is the configuration of the API server that holds the Targets. It is needed for Targets with selfConfig or
	// oidcConfig, for which it creates tokens of service accounts.
	HostConfig *rest.Config

	// Clock determines when clients are idle and tokens old; default the real clock.
	Clock clock.PassiveClock

	// Dialer restricts the addresses that Targets may use. Allow loopback only if the API server that holds the Targets listens
	// there, too: in a pod, loopback is the pod itself. Targets with selfConfig always use HostConfig's address.
	Dialer dial.Rules

	// Scheme has the types that clients support in addition to unstructured objects; default the types of Kubernetes.
	Scheme *runtime.Scheme

	// FewKinds makes clients discover kinds by group and version, with a small request for each, instead of all kinds of a cluster
	// at once. In a cluster with many kinds, the list of all of them takes a megabyte or more.
	FewKinds bool

	// WrapTransport, if set, wraps the transport of every request to a target cluster.
	WrapTransport transport.WrapperFunc
}

const (
	// idleAfter is how long an unused client is kept.
	idleAfter = 15 * time.Minute
	// maxClients limits the number of clients.
	maxClients = 1000
)

// Clusters keeps one client per credential, and drops a client when it has been idle for a while or its credential rotates. Its
// methods may be called from several goroutines.
type Clusters struct {
	options  Options
	issuer   *issuer
	noTokens error // why the issuer cannot be used
	tasks    *taskgroup.Group
	limit    int
	timing   timing

	mutex   sync.Mutex
	clients map[fingerprint]*record
	owners  map[string]ownership
	swept   time.Time
	closed  bool
}

// record is a client in the cache.
type record struct {
	cluster *Cluster
	used    time.Time
	owners  map[string]time.Time // when they last asked for it
}

// ownership is an owner's last content and the client for it.
type ownership struct {
	content fingerprint
	client  fingerprint
}

// NewClusters returns an empty cache of clients.
func NewClusters(options Options) *Clusters {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Scheme == nil {
		options.Scheme = kubernetesscheme.Scheme
	}
	c := &Clusters{
		options: options, tasks: taskgroup.New(), limit: maxClients, timing: defaultTiming,
		clients: map[fingerprint]*record{}, owners: map[string]ownership{},
	}
	if options.HostConfig == nil {
		c.noTokens = errors.New("this process does not create tokens of service accounts: use a Target with a kubeconfig")
		return c
	}
	host, err := corev1client.NewForConfig(options.HostConfig)
	c.noTokens = err
	c.issuer = &issuer{accounts: host, clock: options.Clock}
	return c
}

// For returns the cluster of a Target. It does not connect to the cluster. Errors are terminal if the Target must change. A missing
// Secret or service account, and a cluster that was unreachable a moment ago, are retryable errors.
func (c *Clusters) For(ctx context.Context, t *lsv1alpha1.Target) (*Cluster, error) {
	cluster, err := c.forTarget(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("target %s/%s: %w", t.Namespace, t.Name, err)
	}
	return cluster, nil
}

func (c *Clusters) forTarget(ctx context.Context, t *lsv1alpha1.Target) (*Cluster, error) {
	if t.Spec.Type != lsv1alpha1.TargetTypeKubernetesCluster {
		return nil, invalid(
			"spec.type is %q, which is not a Kubernetes cluster: use a Target of type %s",
			t.Spec.Type,
			lsv1alpha1.TargetTypeKubernetesCluster,
		)
	}
	content, err := c.content(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, invalid("spec has neither config nor secretRef: set one of them")
	}
	as, err := tenantIn(ctx)
	if err != nil {
		return nil, err
	}
	read := func() (*access, error) {
		a, err := readAccess(t.Namespace, content)
		return a.actingFor(as), err
	}
	return c.forContent(ctx, as.owner(t.Namespace+"/"+t.Name), content, read)
}

// ownerOfKubeconfig is the prefix of the names of owners other than Targets.
const ownerOfKubeconfig = "kubeconfig of "

// ForKubeconfig returns the cluster of a kubeconfig that does not belong to a Target. The owner names its origin: when the same
// owner calls with another kubeconfig, the client of the previous one is dropped.
func (c *Clusters) ForKubeconfig(ctx context.Context, owner string, raw []byte) (*Cluster, error) {
	return c.forContent(ctx, ownerOfKubeconfig+owner, raw, func() (*access, error) {
		config, err := ParseKubeconfig(raw)
		return &access{kubeconfig: config}, err
	})
}

// forContent finds or creates the client for some content. The content is not parsed again if it has not changed.
func (c *Clusters) forContent(ctx context.Context, owner string, content []byte, read func() (*access, error)) (*Cluster, error) {
	sum := fingerprint(sha256.Sum256(content))
	cluster := c.recall(owner, sum)
	if cluster == nil {
		a, err := read()
		if err != nil {
			return nil, err
		}
		if cluster, err = c.adopt(owner, sum, a); err != nil {
			return nil, err
		}
	}
	c.sweep()
	if err := cluster.ready(ctx); err != nil {
		return nil, err
	}
	return cluster, nil
}

// recall returns the client that the owner had for the same content, or nil.
func (c *Clusters) recall(owner string, content fingerprint) *Cluster {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.owners[owner]
	if !ok || known.content != content || c.clients[known.client] == nil {
		return nil
	}
	return c.useLocked(owner, known.client)
}

// adopt makes the owner a user of the client for a, which is created if necessary. The owner's previous client is dropped if it has
// no other user.
func (c *Clusters) adopt(owner string, content fingerprint, a *access) (*Cluster, error) {
	key := a.fingerprint()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.clients[key] == nil {
		cluster, err := c.build(key, a)
		if err != nil {
			return nil, err
		}
		c.clients[key] = &record{cluster: cluster, owners: map[string]time.Time{}}
	}
	if before, ok := c.owners[owner]; ok && before.client != key {
		c.releaseLocked(owner, before.client)
	}
	c.owners[owner] = ownership{content: content, client: key}
	return c.useLocked(owner, key), nil
}

var errClosed = errors.New("the clients of target clusters are closed: the process is stopping")

// build creates a client that leaves the cache when its credential is rejected.
func (c *Clusters) build(key fingerprint, a *access) (*Cluster, error) {
	var cluster *Cluster
	var once sync.Once
	cluster, err := c.connect(a, func() { once.Do(func() { c.reject(key, cluster) }) })
	return cluster, err
}

// reject drops a client whose credential was rejected, so that the next call reads the credential again.
func (c *Clusters) reject(key fingerprint, cluster *Cluster) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if entry := c.clients[key]; entry != nil && entry.cluster == cluster {
		c.dropLocked(key)
	}
}

// Drop closes the connections of a cluster that its only user no longer needs, and drops its client. Any other user gets a new
// client at the next call; requests in progress continue.
func (c *Clusters) Drop(cluster *Cluster) {
	c.mutex.Lock()
	for key, entry := range c.clients {
		if entry.cluster == cluster {
			c.dropLocked(key)
			break
		}
	}
	c.mutex.Unlock()
	cluster.watches.closeIdle()
}

// Close ends all watches and drops all clients. A closed cache stays empty: For returns an error.
func (c *Clusters) Close() {
	c.mutex.Lock()
	c.closed = true
	var all []*Cluster
	for _, entry := range c.clients {
		all = append(all, entry.cluster)
	}
	clear(c.clients)
	clear(c.owners)
	c.mutex.Unlock()
	c.tasks.End()
	for _, cluster := range all {
		cluster.watches.closeIdle()
	}
}
