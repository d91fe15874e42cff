// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/tenancy"
)

// maxContents is how many Secrets and ConfigMaps are cached. Only few are needed: those that installations import, and those that their
// targets refer to.
const maxContents = 256

// contents reads Secrets and ConfigMaps. The cluster's cache holds only their metadata, because most of them are not needed: it shows
// which exist and in which version. The content of those that are needed is read once per version.
type contents struct {
	metadata client.Reader
	live     client.Reader

	mu    sync.Mutex
	known map[contentKey]content
}

type contentKey struct {
	kind dataflow.ObjectKind
	client.ObjectKey
}

type content struct {
	version string
	data    map[string][]byte
}

func newContents(metadata, live client.Reader) *contents {
	return &contents{metadata: metadata, live: live, known: map[contentKey]content{}}
}

// contentsReader reads contents.
type contentsReader struct {
	*contents
	// fresh means that the versions in the cache are not good enough.
	fresh bool
}

func (c *contents) reader(fresh bool) contentsReader {
	return contentsReader{contents: c, fresh: fresh}
}

// all returns the contents of the existing objects of a kind, by name.
func (c *contents) all(
	ctx context.Context,
	kind dataflow.ObjectKind,
	namespace string,
	names []string,
) (map[string]map[string][]byte, error) {
	return c.reader(false).all(ctx, kind, namespace, names)
}

func (r contentsReader) all(
	ctx context.Context,
	kind dataflow.ObjectKind,
	namespace string,
	names []string,
) (map[string]map[string][]byte, error) {
	found := map[string]map[string][]byte{}
	for _, name := range names {
		data, err := r.one(ctx, contentKey{kind: kind, ObjectKey: client.ObjectKey{Namespace: namespace, Name: name}})
		if err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
		}
		if data != nil {
			found[name] = data
		}
	}
	return found, nil
}

func (r contentsReader) one(ctx context.Context, key contentKey) (map[string][]byte, error) {
	if !r.fresh {
		version, err := r.version(ctx, key)
		if err != nil || version == "" {
			return nil, client.IgnoreNotFound(err)
		}
		r.mu.Lock()
		known, ok := r.known[key]
		r.mu.Unlock()
		if ok && known.version == version {
			return known.data, tenancy.From(ctx).MayGet(ctx, resourceOf(key.kind), key.ObjectKey)
		}
	}
	data, version, err := r.read(ctx, key)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	r.remember(key, content{version: version, data: data})
	return data, nil
}

// resourceOf returns the resource of a kind, as rights name it.
func resourceOf(kind dataflow.ObjectKind) schema.GroupResource {
	switch kind {
	case kindDataObject, kindTarget:
		return lsv1alpha1.SchemeGroupVersion.WithResource(strings.ToLower(string(kind)) + "s").GroupResource()
	}
	return corev1.Resource(strings.ToLower(string(kind)) + "s")
}

func (c *contents) version(ctx context.Context, key contentKey) (string, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(key.kind)))
	err := c.metadata.Get(ctx, key.ObjectKey, object)
	return object.ResourceVersion, err
}

//espalier:rights installations
//	get secrets,configmaps: imports, credentials of registries and Git servers, keys of signatures

func (c *contents) read(ctx context.Context, key contentKey) (map[string][]byte, string, error) {
	if key.kind == dataflow.KindSecret {
		var secret corev1.Secret
		err := c.live.Get(ctx, key.ObjectKey, &secret)
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		return secret.Data, secret.ResourceVersion, err
	}
	var configMap corev1.ConfigMap
	err := c.live.Get(ctx, key.ObjectKey, &configMap)
	return dataflow.ConfigMapContent(configMap.Data, configMap.BinaryData), configMap.ResourceVersion, err
}

// remember caches a content. When there are too many, it evicts an arbitrary one: that will be read again when needed.
func (c *contents) remember(key contentKey, value content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.known {
		if len(c.known) < maxContents {
			break
		}
		delete(c.known, other)
	}
	c.known[key] = value
}
