// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/failure"
)

// repair corrects what other clients have changed, and reports what differed.
func (p *pass) repair(ctx context.Context) (deployer.Progress, error) {
	if p.config.asRelease() {
		return p.repairRelease(ctx)
	}
	return p.repairObjects(ctx)
}

// repairRelease restores the release to what the item requires, and its objects to what the release records.
func (p *pass) repairRelease(ctx context.Context) (progress deployer.Progress, err error) {
	err = p.withRelease(ctx, p.config.reference(), func(h *handle) error {
		history, d, err := p.resolve(ctx, h)
		switch {
		case err != nil:
			if failure.DetailsOf(err).Reason == ReasonTakenOver {
				progress.ProviderStatus = p.state.object()
			}
			return err
		case d.course == await:
			progress.Waiting = p.awaitOther(h, history, d).Reason
			return nil
		case d.course == leave:
			progress.Done = true
			progress.Repaired, err = h.restore(history[len(history)-1], apply.Memory{})
			return p.failed(ctx, attempt{reason: ReasonUpgrade, doing: "restore the objects of release " + shown(h.reference)}, err)
		}
		made, err := p.operate(ctx, h, d, history)
		if err != nil {
			return err
		}
		progress.Done = true
		progress.Repaired = fmt.Sprintf("restored release %s as revision %d", shown(h.reference), made.Version)
		p.session.Memory.current = made
		return p.takeNote(h)
	})
	if progress.Repaired != "" && p.session.Memory.current != nil {
		progress.ProviderStatus = p.state.object()
	}
	return progress, err
}

// repairObjects applies the rendered objects of the chart.
func (p *pass) repairObjects(ctx context.Context) (deployer.Progress, error) {
	applier, found := p.applier(), apply.Memory{}
	applier.SameManifests = true
	run := apply.Run{
		Applier: applier, Objects: p.session.Memory.objects, DefaultNamespace: p.config.Namespace, Inventory: &p.state.objects, Memory: found,
	}
	wait, err := run.Pass(ctx)
	progress := deployer.Progress{Done: wait == nil && err == nil}
	if wait != nil {
		progress.Waiting = wait.Reason
	}
	if progress.Repaired = found.Changes(); progress.Repaired != "" {
		progress.ProviderStatus = p.state.object()
	}
	return progress, err
}
