// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/masking"
)

// withoutStates returns an error about a plan without the values that templates keep from job to job, such as generated passwords. If there
// is no plan, the generated ones are stored nowhere, so nobody else can mask them.
func withoutStates(in installation.Inputs, kept blueprint.States, err error) error {
	if err == nil {
		return nil
	}
	secrets := &masking.Values{}
	for name, content := range in.Stored {
		if name != dataflow.AnswersSecret(in.Installation.Name) {
			secrets.AddSecret(content)
		}
	}
	generated, unknown := kept.Secrets("")
	if unknown != nil {
		secrets = masking.Unknown(unknown)
	}
	for _, content := range generated {
		secrets.AddSecret(content)
	}
	return secrets.Error(err)
}
