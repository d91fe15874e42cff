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
	// foundCacheBytes is for the components that were found. A descriptor is some times larger in memory than as text.
	foundCacheBytes  = 8 << 20
	descriptorFactor = 4
	imageCacheBytes  = 1 << 20
	// archiveCacheBytes is enough for the largest archive that can be read.
	archiveCacheBytes = 300 << 20
)

// Options say with what components are read.
type Options struct {
	// Client reads registries. It is required for them.
	Client *oci.Client
	// Credentials are shown to registries.
	Credentials credentials.Set
	// Resolvers say where components are that the repository of a reference does not have, those to be asked first coming first.
	Resolvers []credentials.Resolver
	// Files is where repositories of the types local and CommonTransportFormat are. Nil means that there are none.
	Files fs.FS
	// Default is where components are looked up whose reference names no repository, unless it is the zero value.
	Default component.RepositoryContext
	// Instead takes the place of every repository that is named, of resolvers too, unless it is the zero value.
	Instead component.RepositoryContext
	// ContentBytes is how large content may be that is read into memory; zero means 32 MiB.
	ContentBytes int64
	// Archives keeps packed archives of Files open from job to job. Nil means that they are read in each one.
	Archives *Archives
	// ArchiveLimits bound the archives of blueprints; the zero value means archive.Default.
	ArchiveLimits archive.Limits
}

// Repositories is a resolve.Source for all kinds of repositories, and reads resources. It is safe for concurrent use.
//
// What it has found it remembers, although a tag may move: make one for each job.
type Repositories struct {
	options Options
	found   *lru.Cache[*version]
	// images are the manifests that image references led to. What was verified is thus what is used, although a tag may move.
	images *lru.Cache[oci.Manifest]
	// archives are those that were opened: the content of a packed one is in memory. In one job they do not change.
	archives *lru.Cache[*oci.Archive]
}

// New returns repositories. Nothing is read yet.
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

// Default is where components are looked up whose reference names no repository; the zero value if there is no such place.
func (r *Repositories) Default() component.RepositoryContext { return r.options.Default }

// version is a version of a component that was found, with a way to its local blobs.
type version struct {
	descriptor *component.Descriptor
	// local opens a blob that is stored along with the descriptor.
	local func(ctx context.Context, blob component.Blob) (content, error)
	// store is where the component's registry is, so that artifacts can be named relative to it; nil if it is in none.
	store oci.Store
	// at is the address of that registry, the zero value for an archive.
	at oci.Address
}

// place is a repository. What it does not have is an error that is resolve.ErrNotFound.
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

// search asks the repository that is named, and then those that resolvers offer.
func (r *Repositories) search(ctx context.Context, at component.Coordinates) (*version, error) {
	contexts, err := r.contexts(at)
	if err != nil {
		return nil, err
	}
	if len(contexts) == 0 {
		// The Context may be completed later.
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

// place understands a repository context.
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
		"repository context: the type %q is not known: use OCIRegistry, CommonTransportFormat, local or inline", kind)
}

// versionPattern is a lenient semantic version: a v in front, and parts that are missing, do not matter.
var versionPattern = regexp.MustCompile(`^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func checkID(id component.ID) error {
	if id.Name == "" || !versionPattern.MatchString(id.Version) {
		return invalid(ReasonRepositoryInvalid, "component %s: a name and a semantic version, such as 1.2.3, are required", id)
	}
	return nil
}

// fieldsOf are the fields of a repository context that are texts.
type fieldsOf map[string]any

func (f fieldsOf) text(name string) string {
	text, _ := f[name].(string)
	return text
}
