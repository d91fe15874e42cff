// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

var everyPhase = []lsv1alpha1.Phase{
	"", lsv1alpha1.PhaseInit, lsv1alpha1.PhasePendingDependencies, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting,
	lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseAborted,
}

var operations = []lsv1alpha1.Operation{
	"", lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile, lsv1alpha1.OperationAbort, lsv1alpha1.OperationInterrupt,
}
