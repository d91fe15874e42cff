// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package externals_test

import (
	"testing"

	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
