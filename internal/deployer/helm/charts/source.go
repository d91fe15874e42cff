// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/lru"
)

// Located is a packed chart that has been found but not read.
type Located struct {
	// Digest is the digest of the packed chart, for example sha256:…; empty if it is not known in advance.
	Digest string
	// Read returns the packed chart. It is not called if a chart with that digest is cached.
	Read func(context.Context) ([]byte, error)
}

// Options configure a Source.
type Options struct {
	// Host reads Contexts and Secrets in the namespaces of deploy items.
	Host client.Reader
	// Dialer restricts the addresses that users may name.
	Dialer dial.Rules
	// Registries opens OCI registries and components. Nil rejects charts in them.
	Registries Registries
}

// cacheBytes bounds the cache of charts.
const cacheBytes = 64 << 20

// Source fetches charts. Its methods may be called from several goroutines.
type Source struct {
	options Options
	web     *web
	cache   *lru.Cache[*Package]
}

// New returns a source with an empty cache.
func New(options Options) *Source {
	return &Source{options: options, web: newWeb(options.Dialer), cache: lru.NewCache[*Package](cacheBytes)}
}

// Request identifies the chart, and the deploy item for which it is fetched.
type Request struct {
	Chart helmv1alpha1.Chart
	// Namespace is the namespace of the deploy item, and Context the name of its Context.
	Namespace string
	Context   string
	// Item and Job identify the work for which the chart is fetched: within a job, a tag does not move.
	Item types.UID
	Job  string
}

// Fetch returns the chart. A chart with a known digest is taken from the cache if possible.
func (s *Source) Fetch(ctx context.Context, r Request) (*Package, error) {
	found, err := s.locate(ctx, r)
	if err != nil {
		return nil, err
	}
	if key, known := digestKey(found.Digest); known {
		return s.cache.Get(key, func() (*Package, int, error) { return s.read(ctx, found) })
	}
	data, err := found.Read(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return s.cache.Get(lru.Key(sum), func() (*Package, int, error) { return open(data) })
}

// Remembered returns the number of cached charts.
func (s *Source) Remembered() int { return s.cache.Len() }

// read fetches a chart whose digest is known, and verifies the digest.
func (s *Source) read(ctx context.Context, found Located) (*Package, int, error) {
	data, err := found.Read(ctx)
	if err != nil {
		return nil, 0, err
	}
	sum := sha256.Sum256(data)
	if want := hexOf(found.Digest); want != hex.EncodeToString(sum[:]) {
		return nil, 0, unfetched(fmt.Errorf("the chart has the digest sha256:%x, but sha256:%s is expected: it was changed, or damaged in transit", sum, want))
	}
	return open(data)
}

func open(data []byte) (*Package, int, error) {
	if len(data) > maxArchiveBytes {
		return nil, 0, invalid(fmt.Errorf("the packed chart has more than %d bytes", maxArchiveBytes))
	}
	opened, err := Open(data)
	if err != nil {
		return nil, 0, invalid(err)
	}
	return opened, opened.bytes, nil
}

func hexOf(digest string) string { return strings.ToLower(strings.TrimPrefix(digest, "sha256:")) }

// digestKey converts a digest to a cache key; false if it is not a SHA-256.
func digestKey(digest string) (lru.Key, bool) {
	raw, err := hex.DecodeString(hexOf(digest))
	if err != nil || len(raw) != sha256.Size {
		return lru.Key{}, false
	}
	return lru.Key(raw), true
}

// locate tries the sources in this order: archive, ref, helmChartRepo, resourceRef.
func (s *Source) locate(ctx context.Context, r Request) (Located, error) {
	switch c := r.Chart; {
	case c.Archive != nil && c.Archive.Raw != "":
		return inline(c.Archive.Raw)
	case c.Archive != nil && c.Archive.Remote != nil:
		return s.web.archive(c.Archive.Remote.URL)
	case c.Ref != "":
		return s.fromRegistry(ctx, r, "chart.ref", c.Ref)
	case c.HelmChartRepo != nil && strings.HasPrefix(strings.TrimSpace(c.HelmChartRepo.HelmChartRepoURL), ociScheme):
		return s.fromRegistry(ctx, r, "chart.helmChartRepo", ociReference(*c.HelmChartRepo))
	case c.HelmChartRepo != nil:
		return s.fromRepository(ctx, r)
	case c.ResourceRef != "":
		return s.fromComponent(ctx, r)
	}
	return Located{}, invalid(errors.New("chart has no source: set archive, ref, helmChartRepo or resourceRef"))
}

const ociScheme = "oci://"

func ociReference(repo helmv1alpha1.HelmChartRepo) string {
	base := strings.Trim(strings.TrimPrefix(strings.TrimSpace(repo.HelmChartRepoURL), ociScheme), "/")
	// A tag cannot contain a plus sign; Helm replaces it with an underscore.
	return base + "/" + repo.HelmChartName + ":" + strings.ReplaceAll(repo.HelmChartVersion, "+", "_")
}

func inline(text string) (Located, error) {
	if base64.StdEncoding.DecodedLen(len(text)) > maxArchiveBytes+2 {
		return Located{}, invalid(fmt.Errorf("chart.archive.raw has more than %d bytes", maxArchiveBytes))
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Located{}, invalid(errors.New("chart.archive.raw is not base64"))
	}
	return Located{Read: func(context.Context) ([]byte, error) { return data, nil }}, nil
}
