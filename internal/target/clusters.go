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

// Options are what Clusters needs.
type Options struct {
	// Host reads Secrets in the namespaces of Targets. It is asked once per call of For or Content that involves a Secret.
	Host client.Reader

	// HostConfig leads to the API server that holds the Targets. It is needed for Targets with selfConfig or oidcConfig, for which it
	// creates tokens of service accounts.
	HostConfig *rest.Config

	// Clock tells when clients are idle and tokens old. If it is nil, it is the real one.
	Clock clock.PassiveClock

	// Dialer says which addresses Targets may lead to. Allow loopback only if the API server that holds the Targets listens there, too:
	// in a pod, loopback is the pod itself. Targets with selfConfig lead to HostConfig's address whatever it is.
	Dialer dial.Rules

	// Scheme has the types that clients understand beside unstructured objects. If it is nil, it has those of Kubernetes.
	Scheme *runtime.Scheme

	// FewKinds lets clients find out about kinds by group and version, with a small request for each, instead of about all kinds of a
	// cluster at once. What is known of all kinds takes up a megabyte and more in a cluster with many of them.
	FewKinds bool

	// WrapTransport, if it is set, sees every request on its way to a target cluster.
	WrapTransport transport.WrapperFunc
}

const (
	// idleAfter is how long a client is kept that nobody asks for.
	idleAfter = 15 * time.Minute
	// maxClients bounds how many clients are kept.
	maxClients = 1000
)

// Clusters keeps one client per credential and drops it when nobody has used it for a while or the credential rotates. Its methods may
// be called from several goroutines.
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

// ownership remembers what an owner's content was and which client it led to.
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
		c.noTokens = errors.New("this process creates no tokens of service accounts: use a Target with a kubeconfig")
		return c
	}
	host, err := corev1client.NewForConfig(options.HostConfig)
	c.noTokens = err
	c.issuer = &issuer{accounts: host, clock: options.Clock}
	return c
}

// For returns the cluster that a Target means. It does not connect to it. Errors are terminal if the Target has to change. A Secret or
// service account that is missing, and a cluster that was found out of reach a moment ago, are retryable.
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
			"spec.type is %q, which is no Kubernetes cluster: use a Target of type %s",
			t.Spec.Type,
			lsv1alpha1.TargetTypeKubernetesCluster,
		)
	}
	content, err := c.content(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, invalid("spec has neither config nor secretRef with any content: set one of them")
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

// ownerOfKubeconfig begins the names of owners that are no Targets.
const ownerOfKubeconfig = "kubeconfig of "

// ForKubeconfig returns the cluster of a kubeconfig that is no Target's. The owner is a name for where it comes from: when the same
// owner comes with another kubeconfig, the client of the former one is dropped.
func (c *Clusters) ForKubeconfig(ctx context.Context, owner string, raw []byte) (*Cluster, error) {
	return c.forContent(ctx, ownerOfKubeconfig+owner, raw, func() (*access, error) {
		config, err := ParseKubeconfig(raw)
		return &access{kubeconfig: config}, err
	})
}

// forContent finds or makes the client for some content. Parsing is left out if the content is what it was the last time.
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

// adopt makes the owner a user of the client for a, which is made if there is none yet. What it used before is dropped if nobody else
// uses it.
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

var errClosed = errors.New("the clients of target clusters are closed: the process is about to end")

// build makes a client that leaves the cache when its credential is refused.
func (c *Clusters) build(key fingerprint, a *access) (*Cluster, error) {
	var cluster *Cluster
	var once sync.Once
	cluster, err := c.connect(a, func() { once.Do(func() { c.reject(key, cluster) }) })
	return cluster, err
}

// reject drops a client whose credential was refused, so that the next call reads the credential again.
func (c *Clusters) reject(key fingerprint, cluster *Cluster) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if entry := c.clients[key]; entry != nil && entry.cluster == cluster {
		c.dropLocked(key)
	}
}

// Drop closes the connections of a cluster that its only user no longer needs, and forgets its client. Somebody else who uses it gets
// another one at his next call; requests that are under way are not disturbed.
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
