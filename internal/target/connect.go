// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/version"
)

const (
	hostDialTimeout  = 5 * time.Second
	discoveryTimeout = 15 * time.Second // discovery takes no context
)

// route is how a cluster is reached: its address, the transport and the credential.
type route struct {
	server     *rest.Config // address and trust
	transport  *http.Transport
	credential credential
	// wrap adds what the credential does not: the impersonated user. It may be nil.
	wrap func(http.RoundTripper) (http.RoundTripper, error)
}

// connect creates a client for a Target. It sends no request. The client calls rejected when the cluster does not accept the
// credential.
func (c *Clusters) connect(a *access, rejected func()) (*Cluster, error) {
	way, err := c.routeOf(a)
	if err != nil {
		return nil, err
	}
	gate := &gate{
		next:     way.transport,
		breaker:  &breaker{server: way.server.Host, clock: c.options.Clock},
		rejected: rejected,
	}
	if c.options.WrapTransport != nil {
		gate.next = c.options.WrapTransport(way.transport)
	}
	if way.wrap != nil {
		if gate.next, err = way.wrap(gate.next); err != nil {
			return nil, invalid("cannot connect to the cluster of the Target: %w", err)
		}
	}
	cluster := &Cluster{id: clusterID(way.server), breaker: gate.breaker, credential: way.credential}
	cluster.config = &rest.Config{
		Host:           way.server.Host,
		Transport:      &authorizer{next: gate, credential: way.credential},
		ContentConfig:  rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
		UserAgent:      version.UserAgent("espalier"),
		WarningHandler: rest.NoWarnings{},
		QPS:            -1,
	}
	if err := c.addClients(cluster); err != nil {
		return nil, err
	}
	cluster.watches = &watches{
		client: cluster.client, tasks: c.tasks, timing: c.timing,
		closeIdle: countConnections(way.transport, c.tasks).letGo, active: map[watchKey]*sharedWatch{},
	}
	return cluster, nil
}

func (c *Clusters) addClients(cluster *Cluster) error {
	var err error
	cluster.mapper, err = newMapper(c.options.Clock, func() (meta.RESTMapper, error) { return c.kindsOf(cluster) })
	if err != nil {
		return invalid("cannot connect to the target cluster: %w", err)
	}
	cluster.client, err = client.NewWithWatch(cluster.config, client.Options{
		HTTPClient: &http.Client{Transport: cluster.config.Transport},
		Scheme:     c.options.Scheme,
		Mapper:     cluster.mapper,
	})
	if err != nil {
		return invalid("cannot connect to the target cluster: %w", err)
	}
	return nil
}

// kindsOf returns an empty mapper.
func (c *Clusters) kindsOf(cluster *Cluster) (meta.RESTMapper, error) {
	connections := &http.Client{Transport: cluster.config.Transport, Timeout: discoveryTimeout}
	everything, err := apiutil.NewDynamicRESTMapper(cluster.config, connections)
	if err != nil || !c.options.FewKinds {
		return everything, err
	}
	asker, err := discovery.NewDiscoveryClientForConfigAndClient(cluster.config, connections)
	if err != nil {
		return nil, err
	}
	return newVersionMapper(asker, everything), nil
}

func (c *Clusters) routeOf(a *access) (*route, error) {
	switch {
	case a.self != nil && a.self.isForTenant():
		return c.tenantRoute(a.self)
	case a.self != nil:
		return c.selfRoute(a.self)
	case a.oidc != nil:
		source, err := c.tokens(a.oidc)
		if err != nil {
			return nil, err
		}
		return c.guardedRoute(a.server, source)
	default:
		return c.guardedRoute(a.kubeconfig, newFixedCredential(a.kubeconfig))
	}
}

// guardedRoute returns the route to a server that a user has named.
func (c *Clusters) guardedRoute(config *rest.Config, shown credential) (*route, error) {
	trust, err := trustOf(config)
	if err != nil {
		return nil, err
	}
	return &route{server: config, transport: c.options.Dialer.Transport(trust), credential: shown}, nil
}

// selfRoute returns the route to the cluster that contains the Targets, with the rights of a service account and none of the
// controller's.
func (c *Clusters) selfRoute(wish *tokenWish) (*route, error) {
	source, err := c.tokens(wish)
	if err != nil {
		return nil, err
	}
	return c.hostRoute(rest.AnonymousClientConfig(c.options.HostConfig), source)
}

// hostRoute returns the route to the cluster that contains the Targets. The operator chose its address, so the rules for users' addresses
// do not apply.
func (c *Clusters) hostRoute(config *rest.Config, shown credential) (*route, error) {
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, failure.NewRetryable(failure.Details{Operation: operationResolve}, err)
	}
	config.Host = address.String()
	trust, err := trustOf(config)
	if err != nil {
		return nil, err
	}
	transport := c.options.Dialer.Transport(trust)
	transport.DialContext = (&net.Dialer{Timeout: hostDialTimeout}).DialContext
	if config.Dial != nil {
		transport.DialContext = config.Dial
	}
	transport.Proxy = http.ProxyFromEnvironment
	if config.Proxy != nil {
		transport.Proxy = config.Proxy
	}
	return &route{server: config, transport: transport, credential: shown}, nil
}

func trustOf(config *rest.Config) (*tls.Config, error) {
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, invalid("the certificates cannot be used: %w", err)
	}
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return trust, nil
}

func (c *Clusters) tokens(wish *tokenWish) (*tokenSource, error) {
	if c.noTokens != nil {
		return nil, invalid("cannot get a token of the service account %s: %w", wish, c.noTokens)
	}
	return newTokenSource(c.issuer, wish), nil
}

// OnLoopback reports whether an API server listens on this machine only. Target clusters may then do so, too: see
// Options.Dialer.
func OnLoopback(config *rest.Config) bool {
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(address.Hostname())
	return address.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
