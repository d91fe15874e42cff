// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/masking"
)

// Mask replaces values of Secrets.
const Mask = masking.Mask

// addFacts adds everything secret that the imports of an installation may reveal.
func addFacts(secrets *masking.Values, facts dataflow.Facts) {
	for _, content := range facts.Secrets {
		secrets.AddSecret(content)
	}
	for _, target := range facts.Targets {
		secrets.AddTarget(target)
	}
}
