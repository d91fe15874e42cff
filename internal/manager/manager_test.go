// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"maps"
	"slices"
	"testing"

	"espalier.dev/internal/freshness"
)

func TestNamespacesLimitTheCache(t *testing.T) {
	if all := cacheOptions(Options{}, &freshness.Informers{}); all.DefaultNamespaces != nil {
		t.Errorf("without a choice the cache holds only %v", all.DefaultNamespaces)
	}
	some := cacheOptions(Options{Namespaces: []string{"a", "b"}}, &freshness.Informers{})
	if got := slices.Sorted(maps.Keys(some.DefaultNamespaces)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the cache holds %v", got)
	}
}
