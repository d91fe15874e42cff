// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"testing"

	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
