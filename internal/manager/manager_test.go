// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"maps"
	"slices"
	"testing"
)

func TestNamespacesLimitTheCache(t *testing.T) {
	if all := cacheOptions(Options{}); all.DefaultNamespaces != nil {
		t.Errorf("without a choice the cache holds only %v", all.DefaultNamespaces)
	}
	some := cacheOptions(Options{Namespaces: []string{"a", "b"}})
	if got := slices.Sorted(maps.Keys(some.DefaultNamespaces)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the cache holds %v", got)
	}
}
