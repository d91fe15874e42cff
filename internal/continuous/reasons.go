// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import "espalier.dev/internal/decision"

func because(code, message string) decision.Reason {
	return decision.Reason{Code: code, Message: message}
}
