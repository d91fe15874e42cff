// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"

	release "helm.sh/helm/v4/pkg/release/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// ReasonTakenOver is the reason of the error when another deploy item has taken over the release.
const ReasonTakenOver = "ReleaseTakenOver"

// lost returns an error if another deploy item created a revision after the last one that this item deployed: otherwise both keep upgrading
// the release in turns. The item's status names the other one. An item that has never deployed the release takes it over.
func (p *pass) lost(h *handle, history []*release.Release) error {
	known := p.state.release
	if known == nil || known.ReleaseReference != h.reference || known.Revision == 0 || !h.otherOwner(history) {
		return nil
	}
	last := history[len(history)-1]
	if last.Version <= known.Revision {
		return nil
	}
	maker := makerOf(last)
	p.state.release.TakenOverBy = maker
	return failure.NewTerminal(
		failure.Details{Operation: "Helm", Reason: ReasonTakenOver, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}},
		fmt.Errorf("release %s belongs to %s, which created revision %d after revision %d of this one: "+
			"give one of the two another release, or delete one; if the other one is gone, run "+
			"kubectl label secret --namespace %s sh.helm.release.v1.%s.v%d %s- and start a new job",
			shown(h.reference), called(maker), last.Version, known.Revision, h.reference.Namespace, h.reference.Name, last.Version, ownerLabel),
	)
}
