// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/deployitem"
)

// Labels of all objects of a deploy item. Those of earlier controllers have the same, except the last three.
const (
	group = containerv1alpha1.GroupName
	// Finalizer keeps a pod until its end was taken note of.
	Finalizer = group + "/finalizer"

	labelIdentity      = group + "/deployer-id"
	labelName          = group + "/name"
	labelItemName      = "deployitem." + group + "/name"
	labelItemNamespace = "deployitem." + group + "/namespace"
	labelType          = group + "/type"
	// labelItem is the UID of the deploy item, and labelManaged is on whatever this deployer has made.
	labelItem    = containerv1alpha1.DeployItemUIDLabel
	labelManaged = "espalier.dev/deployer"
	managed      = "container"

	// annotationItem is namespace and name of the deploy item, which may be too long for a label.
	annotationItem = "deployitem." + group + "/item"
	// annotationOrigin says why the pod runs: originJob or originContinuous.
	annotationOrigin = group + "/origin"
	originJob        = "job"
	originContinuous = "continuous"
	// annotationSpec is the hash of what the item said when the pod was made.
	annotationSpec = group + "/spec"
)

// Types of Secrets.
const (
	typeResult = "result"
	typeState  = "state"
	typeInput  = "input"
	typePull   = "pull"
)

// Annotations of Secrets with state that earlier controllers have written.
const (
	annotationUUID = group + "/uuid"
	annotationNum  = group + "/num"
)

const (
	maxLabel = 63
	maxName  = 40
)

// names are those of the objects of a deploy item. The UID makes them different for items of the same name, in other namespaces or later.
type names struct{ base string }

func namesOf(item *lsv1alpha1.DeployItem) names {
	readable := strings.Map(func(r rune) rune {
		if r == '.' {
			return '-'
		}
		return r
	}, item.Name)
	if len(readable) > maxName {
		readable = strings.TrimRight(readable[:maxName], "-")
	}
	return names{base: readable + "-" + digest(string(item.UID))[:10]}
}

func (n names) pod() string             { return n.base }
func (n names) account() string         { return n.base }
func (n names) result() string          { return n.base + "-result" }
func (n names) pull() string            { return n.base + "-pull" }
func (n names) input(run string) string { return n.base + "-input-" + run[:8] }
func (n names) states() (a, b string)   { return n.base + "-state-a", n.base + "-state-b" }
func (n names) otherState(p string) string {
	a, b := n.states()
	if p == a {
		return b
	}
	return a
}

// writable are the Secrets that the pod may write.
func (n names) writable() []string {
	all := []string{n.result()}
	a, b := n.states()
	for i := range inside.MaxStatePieces {
		all = append(all, inside.SlotName(a, i), inside.SlotName(b, i))
	}
	return all
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		// A hash never fails.
		_, _ = h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// labelValue shortens what is too long for a label.
func labelValue(text string) string {
	if len(text) <= maxLabel {
		return text
	}
	return strings.TrimRight(text[:maxLabel-11], "-.") + "-" + digest(text)[:10]
}

// labels are on all objects of an item.
func (d *Deployer) labels(item *lsv1alpha1.DeployItem) map[string]string {
	return map[string]string{
		labelManaged:       managed,
		labelIdentity:      d.options.Identity,
		labelName:          labelValue(item.Name),
		labelItemName:      labelValue(item.Name),
		labelItemNamespace: labelValue(item.Namespace),
		labelItem:          string(item.UID),
	}
}

// meta is that of an object of an item. Objects have no owner: a deletion of the item that begins with its dependents would take the state
// away before the image has run with DELETE.
func (d *Deployer) meta(item *lsv1alpha1.DeployItem, name, kind string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: d.namespaceOf(item), Name: name, Labels: d.labels(item),
		Annotations: map[string]string{annotationItem: item.Namespace + "/" + item.Name},
	}
	if kind != "" {
		m.Labels[labelType] = kind
	}
	return m
}

func (d *Deployer) namespaceOf(item *lsv1alpha1.DeployItem) string {
	if d.options.Namespace != "" {
		return d.options.Namespace
	}
	return item.Namespace
}

// itemOf returns the deploy item that an object belongs to; false if it is none of ours.
func itemOf(object metav1.Object) (client.ObjectKey, types.UID, bool) {
	namespace, name, found := strings.Cut(object.GetAnnotations()[annotationItem], "/")
	uid := object.GetLabels()[labelItem]
	return client.ObjectKey{Namespace: namespace, Name: name}, types.UID(uid), found && uid != ""
}

// specHash is the same as long as an item asks for the same. The generation would not do: a deletion raises it in the middle of a job.
func specHash(item *lsv1alpha1.DeployItem) string {
	var config any
	raw := item.Spec.Configuration
	if raw == nil || json.Unmarshal(raw.Raw, &config) != nil {
		config = nil
	}
	text, err := json.Marshal(map[string]any{"config": config, "target": item.Spec.Target, "context": item.Spec.Context})
	if err != nil {
		return ""
	}
	return digest(string(text))[:16]
}

// operationOf is what the current job of an item asks the image to do.
func operationOf(item *lsv1alpha1.DeployItem) containerv1alpha1.Operation {
	if deployitem.InDeletionFlow(!item.DeletionTimestamp.IsZero(), item.Status.Phase) {
		return containerv1alpha1.OperationDelete
	}
	return containerv1alpha1.OperationReconcile
}

// runOf names what an item is to be run for at present: a job, or in the continuous flow, which has none, the beginning of the work.
func runOf(item *lsv1alpha1.DeployItem, operation containerv1alpha1.Operation) string {
	began := ""
	if times := item.Status.TransitionTimes; deployitem.FlowOf(item) == lsv1alpha1.FlowContinuous && times != nil && times.InitTime != nil {
		began = strconv.FormatInt(times.InitTime.Unix(), 10)
	}
	return digest(string(item.UID), item.Status.JobID, began, string(operation), specHash(item))[:32]
}

// nextRun names the run that follows another one without a job.
func nextRun(item *lsv1alpha1.DeployItem, before string) string {
	return digest(string(item.UID), originContinuous, before, specHash(item))[:32]
}
