// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
)

const (
	// foundCacheBytes is the cache size for found components. A descriptor is several times larger in memory than as text.
	foundCacheBytes  = 8 << 20
	descriptorFactor = 4
	imageCacheBytes  = 1 << 20
	// archiveCacheBytes has room for the largest archive that can be read.
	archiveCacheBytes = 300 << 20
)

// Options configure Repositories.
type Options struct {
	// Client reads registries. It is required for registries.
	Client *oci.Client
	// Credentials authenticate to registries.
	Credentials credentials.Set
	// Resolvers are the repositories in which to look up, in order, components that the repository of a reference does not have.
	Resolvers []credentials.Resolver
	// Files contains the repositories of the types local and CommonTransportFormat. Nil means that there are none.
	Files fs.FS
	// Default is the repository of references that name none, unless it is the zero value.
	Default component.RepositoryContext
	// Instead replaces every named repository, including those of resolvers, unless it is the zero value.
	Instead component.RepositoryContext
	// ContentBytes is the maximum size of content that is read into memory; zero means 32 MiB.
	ContentBytes int64
	// Archives caches packed archives of Files across jobs. Nil means that each job reads them.
	Archives *Archives
	// ArchiveLimits bound the archives of blueprints; the zero value means archive.Default.
	ArchiveLimits archive.Limits
}

// Repositories is a resolve.Source for all kinds of repositories, and reads resources. It is safe for concurrent use.
//
// It caches found components, although a tag may move: create one per job.
type Repositories struct {
	options Options
	found   *lru.Cache[*version]
	// images are the manifests of image references, cached so that the used content is the verified one, although a tag may move.
	images *lru.Cache[oci.Manifest]
	// archives are the opened archives: the content of a packed one is in memory. They do not change during one job.
	archives *lru.Cache[*oci.Archive]
}

// New returns repositories. It reads nothing yet.
func New(options Options) *Repositories {
	if options.Files == nil {
		options.Files = archive.Files{}
	}
	if options.ContentBytes == 0 {
		options.ContentBytes = 32 << 20
	}
	if options.ArchiveLimits == (archive.Limits{}) {
		options.ArchiveLimits = archive.Default
	}
	return &Repositories{
		options:  options,
		found:    lru.NewCache[*version](foundCacheBytes),
		images:   lru.NewCache[oci.Manifest](imageCacheBytes),
		archives: lru.NewCache[*oci.Archive](archiveCacheBytes),
	}
}

// Default returns the repository of references that name none; the zero value if there is none.
func (r *Repositories) Default() component.RepositoryContext { return r.options.Default }

// version is a version of a component that was found, with access to its local blobs.
type version struct {
	descriptor *component.Descriptor
	// local opens a blob that is stored with the descriptor.
	local func(ctx context.Context, blob component.Blob) (content, error)
	// store contains the component's registry, so that artifacts can be named relative to it; nil if the component is not in a registry or
	// archive.
	store oci.Store
	// at is the address of that registry, the zero value for an archive.
	at oci.Address
}

// place is a repository. Its error for missing components is resolve.ErrNotFound.
type place interface {
	find(ctx context.Context, id component.ID) (*version, error)
}

// Descriptor implements resolve.Source.
func (r *Repositories) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	found, err := r.find(ctx, at)
	if err != nil {
		return nil, err
	}
	return found.descriptor, nil
}

func (r *Repositories) find(ctx context.Context, at component.Coordinates) (*version, error) {
	if err := checkID(at.ID()); err != nil {
		return nil, err
	}
	var named []byte
	if api := at.RepositoryContext.API(); api != nil {
		named = api.Raw
	}
	return r.found.Get(lru.KeyOf(named, []byte(at.Name), []byte(at.Version)), func() (*version, int, error) {
		found, err := r.search(ctx, at)
		if err != nil {
			return nil, 0, err
		}
		text, err := found.descriptor.JSON(found.descriptor.Schema)
		return found, descriptorFactor * len(text), err
	})
}

// search queries the named repository, and then those of the resolvers.
func (r *Repositories) search(ctx context.Context, at component.Coordinates) (*version, error) {
	contexts, err := r.contexts(at)
	if err != nil {
		return nil, err
	}
	if len(contexts) == 0 {
		// The Context may name one later.
		return nil, failure.NewRetryable(failure.Details{Operation: "ReadComponent", Reason: ReasonRepositoryContextMissing}, fmt.Errorf(
			"component %s: no repository is named: set repositoryContext in the reference or in the Context, a resolver in its ocmConfig, "+
				"or --%s",
			at.ID(),
			DefaultFlag,
		))
	}
	var reasons []string
	for _, one := range contexts {
		found, err := r.findIn(ctx, one, at.ID())
		if err == nil {
			return found, nil
		}
		if !errors.Is(err, resolve.ErrNotFound) {
			return nil, fmt.Errorf("component %s: %w", at.ID(), err)
		}
		reasons = append(reasons, err.Error())
	}
	return nil, notFound("component %s was not found: %s", at.ID(), strings.Join(reasons, "; "))
}

func (r *Repositories) contexts(at component.Coordinates) ([]component.RepositoryContext, error) {
	if !r.options.Instead.IsZero() {
		return []component.RepositoryContext{r.options.Instead}, nil
	}
	var contexts []component.RepositoryContext
	for _, one := range []component.RepositoryContext{at.RepositoryContext, r.options.Default} {
		if !one.IsZero() {
			contexts = append(contexts, one)
			break
		}
	}
	for _, resolver := range r.options.Resolvers {
		if !resolver.Serves(at.Name) {
			continue
		}
		one, err := component.NewRepositoryContext(resolver.Repository)
		if err != nil {
			return nil, invalid(ReasonRepositoryInvalid, "resolver of the OCM configuration: %w", err)
		}
		contexts = append(contexts, one)
	}
	return contexts, nil
}

func (r *Repositories) findIn(ctx context.Context, in component.RepositoryContext, id component.ID) (*version, error) {
	where, err := r.place(in)
	if err != nil {
		return nil, err
	}
	return where.find(ctx, id)
}

// place parses a repository context.
func (r *Repositories) place(in component.RepositoryContext) (place, error) {
	kind, number, versioned := strings.Cut(in.Type(), "/")
	if versioned && number != "v1" {
		return nil, invalid(ReasonRepositoryInvalid, "repository context: the type %s has no version %q here, only v1", kind, number)
	}
	fields := fieldsOf(in.Object())
	switch kind {
	case "OCIRegistry", "ociRegistry", "oci":
		return r.registry(fields)
	case "CommonTransportFormat":
		return r.archive(fields)
	case "local":
		return r.local(fields)
	case "inline":
		return r.inline(fields)
	}
	return nil, invalid(ReasonRepositoryInvalid,
		"repository context: unknown type %q: use OCIRegistry, CommonTransportFormat, local or inline", kind)
}

// versionPattern matches lenient semantic versions: a leading v and missing parts are accepted.
var versionPattern = regexp.MustCompile(`^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func checkID(id component.ID) error {
	if id.Name == "" || !versionPattern.MatchString(id.Version) {
		return invalid(ReasonRepositoryInvalid, "component %s: a name and a semantic version, such as 1.2.3, are required", id)
	}
	return nil
}

// fieldsOf gives access to the string fields of a repository context.
type fieldsOf map[string]any

func (f fieldsOf) text(name string) string {
	text, _ := f[name].(string)
	return text
}
