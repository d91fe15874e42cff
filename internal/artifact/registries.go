// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/component/signature"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
)

// maxRepositories is how many sets of repositories are cached: one for each running or recent job.
const maxRepositories = 256

// RegistryOptions configure how registries are read.
type RegistryOptions struct {
	// Rules say which addresses may be dialled.
	Rules dial.Rules
	// CacheDirectory keeps content, up to CacheBytes. Several processes may share it.
	CacheDirectory string
	CacheBytes     int64
	// Files contains component repositories of the types local and CommonTransportFormat; nil if there are none.
	Files fs.FS
	// Default is the repository of components for which neither an installation nor its Context names one, unless it is the zero value.
	Default component.RepositoryContext
	// Instead replaces every named repository of components, unless it is the zero value.
	Instead component.RepositoryContext
}

// Registries gives access to components, blueprints and charts of registries and archives. One is enough for a process. It is safe for
// concurrent use.
type Registries struct {
	client   *oci.Client
	files    fs.FS
	archives *repository.Archives
	standard component.RepositoryContext
	instead  component.RepositoryContext
	open     *lru.Cache[*Repositories]
}

// Repositories are the repositories as seen with certain credentials. Nothing in them moves: a tag always refers to what it referred to
// first.
type Repositories struct {
	*repository.Repositories

	mu sync.Mutex
	// verified are the signatures that are known to be valid.
	verified map[verification]bool
}

type verification struct {
	set  *component.Set
	name string
	key  lru.Key
}

// Verify checks a signature of a closure once: since nothing moves, verified content stays verified.
func (r *Repositories) Verify(ctx context.Context, set *component.Set, name string, trust signature.Trust) error {
	wanted := verification{set: set, name: name, key: lru.KeyOf(trust.PublicKey, trust.CA)}
	r.mu.Lock()
	valid := r.verified[wanted]
	r.mu.Unlock()
	if valid {
		return nil
	}
	if err := r.Repositories.Verify(ctx, set, name, trust); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verified[wanted] = true
	return nil
}

// NewRegistries opens the cache. It sends nothing yet.
func NewRegistries(options RegistryOptions) (*Registries, error) {
	cache, err := oci.OpenCache(options.CacheDirectory, options.CacheBytes)
	if err != nil {
		return nil, fmt.Errorf("open the cache of registries: %w", err)
	}
	return &Registries{
		client:   oci.NewClient(oci.Options{Rules: options.Rules, Cache: cache}),
		files:    options.Files,
		archives: repository.NewArchives(),
		standard: options.Default,
		instead:  options.Instead,
		open:     lru.NewCacheOf[*Repositories](maxRepositories),
	}, nil
}

// With returns the repositories as seen with the credentials and resolvers of a Context. The same key returns the same repositories, so a
// key stands for one configuration and one job.
func (r *Registries) With(key lru.Key, config credentials.Config) *Repositories {
	// This cannot fail.
	found, _ := r.open.Get(key, func() (*Repositories, int, error) {
		return &Repositories{
			Repositories: repository.New(repository.Options{
				Client:      r.client,
				Credentials: config.Credentials,
				Resolvers:   config.Resolvers,
				Files:       r.files,
				Archives:    r.archives,
				Default:     r.standard,
				Instead:     r.instead,
			}),
			verified: map[verification]bool{},
		}, 0, nil
	})
	return found
}
