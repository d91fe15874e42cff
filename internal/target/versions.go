// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// versionMapper maps the kinds of requested versions of groups, with one small request per version. Requests without a version
// go to another mapper, which reads and caches all kinds that the cluster serves.
type versionMapper struct {
	meta.RESTMapper
	discovery discovery.ServerResourcesInterface

	mutex sync.Mutex
	known map[schema.GroupVersion]meta.RESTMapper
}

func newVersionMapper(asker discovery.ServerResourcesInterface, others meta.RESTMapper) *versionMapper {
	return &versionMapper{RESTMapper: others, discovery: asker, known: map[schema.GroupVersion]meta.RESTMapper{}}
}

// RESTMapping finds a kind. If its version is known but lacks the kind, the version is read again, because the kind may have
// been added.
func (m *versionMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 || versions[0] == "" {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	version := schema.GroupVersion{Group: kind.Group, Version: versions[0]}
	// One request at a time: the very first one opens the connection that all of them share.
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known := m.known[version]; known != nil {
		if mapping, err := known.RESTMapping(kind, version.Version); err == nil {
			return mapping, nil
		}
	}
	known, err := m.askLocked(version)
	if apierrors.IsNotFound(err) {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	if err != nil {
		return nil, fmt.Errorf("find out which kinds of %s the cluster serves: %w", version, err)
	}
	return known.RESTMapping(kind, version.Version)
}

func (m *versionMapper) askLocked(version schema.GroupVersion) (meta.RESTMapper, error) {
	list, err := m.discovery.ServerResourcesForGroupVersion(version.String())
	if err != nil {
		return nil, err
	}
	name := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
	found := restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{{
		Group:              metav1.APIGroup{Name: version.Group, Versions: []metav1.GroupVersionForDiscovery{name}, PreferredVersion: name},
		VersionedResources: map[string][]metav1.APIResource{version.Version: list.APIResources},
	}})
	m.known[version] = found
	return found, nil
}
