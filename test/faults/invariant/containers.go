// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
)

const (
	kindPod    = "Pod"
	kindSecret = "Secret"

	// imageContainer is the container of a pod that runs the image of a deploy item.
	imageContainer = "main"
	// containerItemLabel is the UID of an object's deploy item.
	containerItemLabel = "deployitem." + containerv1alpha1.GroupName + "/uid"
	// containerTypeLabel is the purpose of a Secret.
	containerTypeLabel = containerv1alpha1.GroupName + "/type"
	containerState     = "state"
)

// OfContainers selects what the container deployer has created.
var OfContainers = client.MatchingLabels{"espalier.dev/deployer": "container"}

// itemName matches the names that the container deployer gives: those of deploy items, with a part derived from the UID.
var itemName = regexp.MustCompile(`-([0-9a-f]{10})(-result|-pull|-state-[ab]-\d+|-input-[0-9a-f]{8}-\d+)?$`)

// inputName matches the part of the name of an input that is derived from the run.
var inputName = regexp.MustCompile(`-input-[0-9a-f]{8}-`)

// IsNamedAfterUID reports whether the name of an object differs from run to run, because it contains the UID of a deploy item.
func IsNamedAfterUID(name string) bool { return itemName.MatchString(name) }

// ImageRuns reports whether the provider status of a deploy item says that its image is active for a run.
func ImageRuns(status []byte, run string) bool {
	var known containerv1alpha1.ProviderStatus
	return decode(status, &known) && known.PodStatus != nil && known.PodStatus.Run == run &&
		known.PodStatus.ContainerStatus.State.Running != nil
}

// stableNames gives objects that are named after UIDs the same names in all histories.
type stableNames struct{ replacer *strings.Replacer }

func stableNamesOf(history testkit.History) stableNames {
	var pairs []string
	seen := map[string]bool{}
	for _, r := range history {
		parts := itemName.FindStringSubmatch(r.Object.GetName())
		if parts == nil || r.Object.GetLabels()[containerItemLabel] == "" || seen[parts[1]] {
			continue
		}
		seen[parts[1]] = true
		pairs = append(pairs, parts[1], "<item>")
	}
	return stableNames{strings.NewReplacer(pairs...)}
}

func (n stableNames) in(text string) string {
	return inputName.ReplaceAllString(n.replacer.Replace(text), "-input-<run>-")
}

func (n stableNames) of(id testkit.ObjectID) testkit.ObjectID {
	id.Name = n.in(id.Name)
	return id
}

// hasBegun reports whether the image of a pod has started.
func hasBegun(o *object) bool {
	status := imageStatus(o)
	return status != nil && (status.State.Running != nil || status.State.Terminated != nil)
}

// isAtWork reports whether the image of a pod is running, as far as known.
func isAtWork(o *object) bool {
	status := imageStatus(o)
	return status != nil && status.State.Running != nil && !hasEnded(o)
}

func imageStatus(o *object) *corev1.ContainerStatus {
	all := typed[corev1.Pod](o).Status.ContainerStatuses
	i := slices.IndexFunc(all, func(s corev1.ContainerStatus) bool { return s.Name == imageContainer })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func hasEnded(o *object) bool {
	return o.phase == string(corev1.PodSucceeded) || o.phase == string(corev1.PodFailed)
}

func itemOf(o *object) string { return o.raw.GetLabels()[containerItemLabel] }

// imagesRunOnce holds for every pod whose image starts to run: no image of another pod of the deploy item is running, and none has started
// before for the same run. The purpose of a pod does not matter as long as it does not start.
func imagesRunOnce(history testkit.History) []Violation {
	f := &findings{rule: "I18"}
	begun := map[string]types.UID{} // by run
	replayAll(history, func(s step) {
		if !s.begins() {
			return
		}
		run := s.after.annotation(inside.AnnotationRun)
		if first, known := begun[run]; known && first != s.after.raw.GetUID() {
			f.add(s, "its image runs for run %s, for which that of another pod has run before", run)
		}
		begun[run] = s.after.raw.GetUID()
		others := s.world.where(func(o *object) bool {
			return o.id.Kind == kindPod && o.id != s.id && itemOf(o) == itemOf(s.after) && isAtWork(o)
		})
		for _, other := range others {
			f.add(s, "its image runs, and so does that of %s for the same deploy item", other.id)
		}
	})
	return f.found
}

// begins reports whether a step is the one in which the image of a pod starts.
func (s step) begins() bool {
	return s.id.Kind == kindPod && s.after != nil && hasBegun(s.after) && !(s.before != nil && hasBegun(s.before))
}

// inputStays holds for every Secret that is deleted: no pod that has yet to start needs it.
func inputStays(history testkit.History) []Violation {
	f := &findings{rule: "I19"}
	replayAll(history, func(s step) {
		if s.id.Kind != kindSecret || s.after != nil {
			return
		}
		waiting := s.world.where(func(o *object) bool {
			return o.id.Kind == kindPod && !o.deleting() && !hasEnded(o) && !hasBegun(o) && slices.Contains(secretsOf(o), s.id.Name)
		})
		for _, pod := range waiting {
			f.add(s, "it was deleted, and %s, which needs it, has not begun", pod.id)
		}
	})
	return f.found
}

// secretsOf returns the Secrets without which a pod does not start.
func secretsOf(o *object) []string {
	var names []string
	for _, volume := range typed[corev1.Pod](o).Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	return names
}
