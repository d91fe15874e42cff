// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

const (
	// unknownFor is the interval after which the cluster is asked again for an unknown kind.
	unknownFor = 3 * time.Second
	// maxUnknown limits how many unknown kinds are cached.
	maxUnknown = 1000
)

// mapper maps the kinds of a cluster. It asks the cluster at its first use and for unknown kinds, but for the same
// unknown kind only every few seconds. Reset makes it ask immediately, for callers that have added kinds.
type mapper struct {
	build func() (meta.RESTMapper, error)
	clock clock.PassiveClock

	mutex   sync.Mutex
	inner   meta.RESTMapper
	unknown map[string]unknownKind
}

type unknownKind struct {
	err   error
	until time.Time
}

var _ meta.ResettableRESTMapper = (*mapper)(nil)

func newMapper(clock clock.PassiveClock, build func() (meta.RESTMapper, error)) (*mapper, error) {
	inner, err := build()
	if err != nil {
		return nil, err
	}
	return &mapper{build: build, clock: clock, inner: inner, unknown: map[string]unknownKind{}}, nil
}

// Reset drops all cached kinds.
func (m *mapper) Reset() {
	inner, err := m.build()
	m.mutex.Lock()
	defer m.mutex.Unlock()
	clear(m.unknown)
	if err == nil {
		m.inner = inner
	}
}

// lookup asks the inner mapper, unless the kind is cached as unknown.
func lookup[R any](m *mapper, question string, ask func(meta.RESTMapper) (R, error)) (R, error) {
	inner, err := m.recall(question)
	if err != nil {
		var none R
		return none, err
	}
	result, err := ask(inner)
	if meta.IsNoMatchError(err) {
		m.remember(question, err)
	}
	return result, err
}

func (m *mapper) recall(question string) (meta.RESTMapper, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if unknown, ok := m.unknown[question]; ok && m.clock.Now().Before(unknown.until) {
		return nil, unknown.err
	}
	return m.inner, nil
}

func (m *mapper) remember(question string, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if len(m.unknown) >= maxUnknown {
		clear(m.unknown)
	}
	m.unknown[question] = unknownKind{err: err, until: m.clock.Now().Add(unknownFor)}
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return lookup(
		m,
		"resource "+resource.String(),
		func(inner meta.RESTMapper) (schema.GroupVersionKind, error) { return inner.KindFor(resource) },
	)
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return lookup(
		m,
		"resource "+resource.String(),
		func(inner meta.RESTMapper) ([]schema.GroupVersionKind, error) { return inner.KindsFor(resource) },
	)
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return lookup(
		m,
		"resource "+input.String(),
		func(inner meta.RESTMapper) (schema.GroupVersionResource, error) { return inner.ResourceFor(input) },
	)
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return lookup(
		m,
		"resource "+input.String(),
		func(inner meta.RESTMapper) ([]schema.GroupVersionResource, error) { return inner.ResourcesFor(input) },
	)
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return lookup(
		m,
		kindQuestion(kind, versions),
		func(inner meta.RESTMapper) (*meta.RESTMapping, error) { return inner.RESTMapping(kind, versions...) },
	)
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return lookup(
		m,
		kindQuestion(kind, versions),
		func(inner meta.RESTMapper) ([]*meta.RESTMapping, error) { return inner.RESTMappings(kind, versions...) },
	)
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	inner, _ := m.recall("")
	return inner.ResourceSingularizer(resource)
}

func kindQuestion(kind schema.GroupKind, versions []string) string {
	return fmt.Sprintf("kind %s %s", kind, strings.Join(versions, ","))
}
