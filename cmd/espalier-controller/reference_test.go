// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/reference"
	"espalier.dev/internal/testkit"
)

func TestTheReferenceOfFlags(t *testing.T) {
	page, err := reference.ConfigurationPage("../..", newCommand(genericiooptions.NewTestIOStreamsDiscard()))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "../../../docs/reference/configuration.md", page)
}
