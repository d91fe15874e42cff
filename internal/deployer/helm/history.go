// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/internal/deployer/objects/inventory"
)

// Labels of the record of a release. Helm copies them to the next revision, even if another client creates it.
const (
	// ownerLabel is a hash of namespace and name of the deploy item.
	ownerLabel = helmv1alpha1.GroupName + "/owner"
	// itemLabel is namespace and name of the deploy item, separated by a dot, if they fit. It is for users; only the hash
	// is compared.
	itemLabel = helmv1alpha1.GroupName + "/item"
	// chartLabel is the revision that it was written for and the digest of its chart. It does not cover the values: they are
	// compared with those in the record.
	chartLabel = helmv1alpha1.GroupName + "/chart"
)

const (
	labelDigits   = 40
	maxLabelValue = 63
)

func (h *handle) labels(w wish, next int) map[string]string {
	result := map[string]string{ownerLabel: ownerMark(h.owner), chartLabel: chartMark(next, w.chart.Digest)}
	if name := h.owner.Namespace + "." + h.owner.Name; len(name) <= maxLabelValue {
		result[itemLabel] = name
	}
	return result
}

func ownerMark(owner inventory.Owner) string {
	sum := sha256.Sum256([]byte(owner.String()))
	return hex.EncodeToString(sum[:])[:labelDigits]
}

// anonymous replaces the name of a deploy item that is not in the record.
const anonymous = "another deploy item"

// makerOf returns the deploy item that created a revision, as namespace/name. The label with the name may be left over from an
// earlier revision, so it is used only if it matches the hash.
func makerOf(r *release.Release) string {
	namespace, name, _ := strings.Cut(r.Labels[itemLabel], ".")
	owner := inventory.Owner{Namespace: namespace, Name: name}
	if ownerMark(owner) != r.Labels[ownerLabel] {
		return anonymous
	}
	return owner.String()
}

// called formats a maker for a sentence.
func called(maker string) string {
	if maker == anonymous {
		return maker
	}
	return "deploy item " + maker
}

func chartMark(revision int, digest string) string {
	return fmt.Sprintf("%d-%s", revision, digest[:min(labelDigits, len(digest))])
}

// history returns the revisions of the release, oldest first.
func (h *handle) history() ([]*release.Release, error) {
	found, err := h.actions.Releases.History(h.reference.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var result []*release.Release
	for _, each := range found {
		if r := asRelease(each); r != nil {
			if r.Info == nil {
				r.Info = &release.Info{Status: common.StatusUnknown}
			}
			result = append(result, r)
		}
	}
	slices.SortFunc(result, func(a, b *release.Release) int { return a.Version - b.Version })
	return result, nil
}

// factsOf extracts the facts from a history. The comparison is expensive and made for the last revision only.
func (h *handle) factsOf(history []*release.Release, now time.Time, same func(*release.Release) (bool, error)) (facts, error) {
	result := facts{now: now}
	for _, r := range history {
		since := r.Info.LastDeployed
		if r.Info.Status == common.StatusUninstalling {
			since = r.Info.Deleted
		}
		result.history = append(result.history, revision{status: r.Info.Status, since: since, ours: r.Labels[ownerLabel] == ownerMark(h.owner)})
	}
	if len(history) == 0 {
		return result, nil
	}
	last := len(history) - 1
	if result.history[last].status != common.StatusDeployed {
		return result, nil
	}
	var err error
	result.history[last].same, err = same(history[last])
	return result, err
}

// recover records that the operation that created a revision was abandoned.
func (h *handle) recover(abandoned *release.Release) error {
	abandoned.SetStatus(common.StatusFailed, "Abandoned as "+abandoned.Info.Status.String())
	if err := h.actions.Releases.Update(abandoned); err != nil {
		return fmt.Errorf("mark revision %d as failed: %w", abandoned.Version, err)
	}
	return nil
}

// purge removes the records, the newest last: while one exists, it shows what was deployed.
func (h *handle) purge(history []*release.Release) error {
	for _, r := range history {
		_, err := h.actions.Releases.Delete(r.Name, r.Version)
		if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return fmt.Errorf("remove the record of revision %d: %w", r.Version, err)
		}
	}
	return nil
}

// otherOwner reports whether another deploy item created the last revision.
func (h *handle) otherOwner(history []*release.Release) bool {
	if len(history) == 0 {
		return false
	}
	mark := history[len(history)-1].Labels[ownerLabel]
	return mark != "" && mark != ownerMark(h.owner)
}

// replaced returns the revisions whose objects the current one has replaced: the last one that was deployed, and those after
// it.
func replaced(history []*release.Release) []*release.Release {
	if len(history) == 0 {
		return nil
	}
	before := history[:len(history)-1]
	for i := len(before) - 1; i >= 0; i-- {
		switch before[i].Info.Status {
		case common.StatusDeployed, common.StatusSuperseded, common.StatusUninstalled:
			return before[i:]
		}
	}
	return before
}

// follows reports whether a revision that has replaced others is an upgrade of a deployed revision.
func follows(replaced []*release.Release) bool {
	if len(replaced) == 0 {
		return false
	}
	status := replaced[0].Info.Status
	return status == common.StatusDeployed || status == common.StatusSuperseded
}

// statusOf returns the item's status of a revision.
func statusOf(reference helmv1alpha1.ReleaseReference, r *release.Release) *helmv1alpha1.ReleaseStatus {
	status := &helmv1alpha1.ReleaseStatus{ReleaseReference: reference, Revision: r.Version}
	if r.Chart != nil && r.Chart.Metadata != nil {
		status.Chart, status.ChartVersion, status.AppVersion = r.Chart.Metadata.Name, r.Chart.Metadata.Version, r.Chart.Metadata.AppVersion
	}
	return status
}

// failedHook names the hook at which an operation failed; empty if there is none. Tests are skipped: one may have failed earlier, and is
// unrelated to the operation.
func failedHook(r *release.Release) string {
	if r == nil {
		return ""
	}
	for _, hook := range r.Hooks {
		isTest := len(hook.Events) == 1 && hook.Events[0] == release.HookTest
		if !isTest && unsuccessful(hook) {
			return fmt.Sprintf("the hook %s %s (%s, %s)", hook.Kind, hook.Name, hookEvents(hook), hook.Path)
		}
	}
	return ""
}

// unsuccessful reports whether a hook started to run and did not succeed.
func unsuccessful(hook *release.Hook) bool {
	switch hook.LastRun.Phase {
	case release.HookPhaseRunning, release.HookPhaseFailed, release.HookPhaseUnknown:
		return !hook.LastRun.StartedAt.IsZero()
	}
	return false
}

func hookEvents(hook *release.Hook) string {
	var names []string
	for _, event := range hook.Events {
		names = append(names, event.String())
	}
	return strings.Join(names, ", ")
}
