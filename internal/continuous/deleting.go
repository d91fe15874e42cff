// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

func deleting() decision.Reason { return because(run.ReasonDeleting, "everything below is deleted") }
