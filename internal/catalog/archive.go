// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"fmt"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/blueprint"
)

// Unpack reads the archive of a blueprint into memory. Errors of package archive are faults of the archive, which no retry fixes.
func Unpack(data []byte) (blueprint.Files, error) {
	files, err := archive.Read(bytes.NewReader(data), archive.Default)
	if err != nil {
		return nil, Invalid(ReasonBlueprintInvalid, fmt.Errorf("unpack the blueprint: %w", err))
	}
	return files, nil
}
