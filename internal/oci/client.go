// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"container/list"
	"net/http"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/version"
)

const (
	// manifestTimeout applies to everything but blobs, and to the first byte of blobs.
	manifestTimeout = 30 * time.Second
	blobTimeout     = 10 * time.Minute

	manifestCacheBytes = 32 << 20
	maxConnections     = 256
)

// Options configure a client.
type Options struct {
	// Rules limit which addresses may be dialled.
	Rules dial.Rules
	// Cache stores content that was read. It is required.
	Cache *Cache
	// Limits are the limits of reads; those that are zero have defaults. No blob may be larger than the cache.
	Limits Limits
	// Pause is the delay before the first retry of a request, which doubles with each retry; zero means half a second.
	Pause time.Duration
	// Timeout applies to everything but blobs, BlobTimeout to the transfer of a blob; zero means 30 seconds and 10 minutes.
	Timeout     time.Duration
	BlobTimeout time.Duration
}

// Client reads from registries. One is enough for a process: it shares connections, tokens and content among users of the same credentials,
// and only among those.
type Client struct {
	options   Options
	manifests *lru.Cache[Manifest]
	fetches   flights

	mutex       sync.Mutex
	connections map[string]*list.Element
	recent      *list.List
}

// NewClient returns a client. It sends no request yet.
func NewClient(options Options) *Client {
	options.Limits.Manifest = orDefault(options.Limits.Manifest, DefaultLimits.Manifest)
	options.Limits.Blob = min(orDefault(options.Limits.Blob, DefaultLimits.Blob), options.Cache.limit)
	options.Pause = orDefault(options.Pause, firstPause)
	options.Timeout = orDefault(options.Timeout, manifestTimeout)
	options.BlobTimeout = orDefault(options.BlobTimeout, blobTimeout)
	return &Client{
		options:     options,
		manifests:   lru.NewCache[Manifest](manifestCacheBytes),
		connections: map[string]*list.Element{},
		recent:      list.New(),
	}
}

func orDefault[T int64 | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Registry returns a registry as seen with a credential. The path of the address does not matter.
func (c *Client) Registry(at Address, with Credential) (*Registry, error) {
	scope := c.options.Cache.scope(append(with.parts(), []byte(at.Scheme()), []byte(at.Host))...)
	connection, err := c.connection(scope, at, with)
	if err != nil {
		return nil, classify("connect", at.Host, err)
	}
	return &Registry{client: c, at: at, scope: scope, auth: connection.auth}, nil
}

// connection is the shared state of requests with one credential to one host.
type connection struct {
	scope     string
	transport *http.Transport
	auth      *auth.Client
}

func (c *Client) connection(scope string, at Address, with Credential) (*connection, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known, found := c.connections[scope]; found {
		c.recent.MoveToFront(known)
		return known.Value.(*connection), nil
	}
	fresh, err := c.connect(scope, at, with)
	if err != nil {
		return nil, err
	}
	c.connections[scope] = c.recent.PushFront(fresh)
	if c.recent.Len() > maxConnections {
		oldest := c.recent.Remove(c.recent.Back()).(*connection)
		delete(c.connections, oldest.scope)
		oldest.transport.CloseIdleConnections()
	}
	return fresh, nil
}

func (c *Client) connect(scope string, at Address, with Credential) (*connection, error) {
	trust, err := with.trust()
	if err != nil {
		return nil, err
	}
	transport := c.options.Rules.Transport(trust)
	transport.ResponseHeaderTimeout = c.options.Timeout
	client := &auth.Client{
		Client: &http.Client{
			Transport:     &patient{behind: transport, plain: at.PlainHTTP, pause: c.options.Pause},
			CheckRedirect: limitRedirects,
		},
		Credential: auth.StaticCredential(at.Host, with.login()),
		Cache:      auth.NewCache(),
	}
	client.SetUserAgent(version.UserAgent("espalier"))
	return &connection{scope: scope, transport: transport, auth: client}, nil
}
