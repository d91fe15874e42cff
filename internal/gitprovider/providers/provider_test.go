// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import "testing"

func TestPIP22_EveryProviderKeepsTheContract(t *testing.T) {
	for name, open := range fakes {
		t.Run(name, func(t *testing.T) {
			runContract(t, func(t *testing.T) scene { return open(t) })
		})
	}
}
