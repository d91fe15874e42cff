// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	cached "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"espalier.dev/deployer"
)

// grace is how long after the end of a call the record of a release can still be written: Helm must record that the
// operation has failed.
const grace = 10 * time.Second

// connection is Helm's access to a cluster during one call: through the safe client of the Target only, never through
// settings from the environment. When the call ends, all its requests end. It implements what the packages of kubectl call a
// RESTClientGetter.
type connection struct {
	config    *rest.Config
	mapper    meta.RESTMapper
	namespace string

	mutex     sync.Mutex
	discovery discovery.CachedDiscoveryInterface
}

func connect(ctx context.Context, cluster *deployer.Cluster, namespace string) *connection {
	return &connection{config: boundTo(ctx, cluster.Config()), mapper: cluster.Mapper(), namespace: namespace}
}

// ToRESTConfig implements a RESTClientGetter.
func (c *connection) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// ToDiscoveryClient implements a RESTClientGetter.
func (c *connection) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.discovery != nil {
		return c.discovery, nil
	}
	asker, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	c.discovery = cached.NewMemCacheClient(asker)
	return c.discovery, nil
}

// ToRESTMapper implements a RESTClientGetter.
func (c *connection) ToRESTMapper() (meta.RESTMapper, error) { return c.mapper, nil }

// ToRawKubeConfigLoader implements a RESTClientGetter. It only contains the namespace.
func (c *connection) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: c.namespace}}
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, overrides)
}

// capabilities reads the version and kinds of the cluster.
func (c *connection) capabilities() (*common.Capabilities, error) {
	asker, err := c.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	version, err := asker.ServerVersion()
	if err != nil {
		return nil, err
	}
	versions, err := action.GetVersionSet(asker)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	result := common.DefaultCapabilities.Copy()
	result.APIVersions = versions
	result.KubeVersion = common.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor}
	return result, nil
}

// boundTo ends all requests when a context ends. Helm passes no context to most of its requests.
func boundTo(ctx context.Context, config *rest.Config) *rest.Config {
	config.Transport = &bound{ctx: ctx, next: config.Transport}
	return config
}

type bound struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bound) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := context.Cause(b.ctx); err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(b.ctx, cancel)
	end := func() {
		stop()
		cancel()
	}
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	response.Body = &endingBody{ReadCloser: response.Body, end: end}
	return response, nil
}

// endingBody cancels the context of its request when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// withGrace returns a context that ends some time after its parent.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return lasting, cancel
}
