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

// Labels of all objects of a deploy item. Objects of earlier controllers have the same labels, except the last three.
const (
	group = containerv1alpha1.GroupName
	// Finalizer keeps a pod until its end has been recorded.
	Finalizer = group + "/finalizer"

	labelIdentity      = group + "/deployer-id"
	labelName          = group + "/name"
	labelItemName      = "deployitem." + group + "/name"
	labelItemNamespace = "deployitem." + group + "/namespace"
	labelType          = group + "/type"
	// labelItem is the UID of the deploy item, and labelManaged marks every object that this deployer has created.
	labelItem    = containerv1alpha1.DeployItemUIDLabel
	labelManaged = "espalier.dev/deployer"
	managed      = "container"

	// annotationItem is namespace and name of the deploy item, which may be too long for a label.
	annotationItem = "deployitem." + group + "/item"
	// annotationOrigin is why the pod runs: originJob or originContinuous.
	annotationOrigin = group + "/origin"
	originJob        = "job"
	originContinuous = "continuous"
	// annotationSpec is the hash of the item's spec when the pod was created.
	annotationSpec = group + "/spec"
)

// Types of Secrets.
const (
	typeResult = "result"
	typeState  = "state"
	typeInput  = "input"
	typePull   = "pull"
)

// Annotations of Secrets with state stored by earlier controllers.
const (
	annotationUUID = group + "/uuid"
	annotationNum  = group + "/num"
)

const (
	maxLabel = 63
	maxName  = 40
)

// names are the names of the objects of a deploy item. They contain the UID, so they differ from those of items of the same name in other
// namespaces or at other times.
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

// writable returns the Secrets that the pod may write.
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

// labelValue shortens a text that is too long for a label.
func labelValue(text string) string {
	if len(text) <= maxLabel {
		return text
	}
	return strings.TrimRight(text[:maxLabel-11], "-.") + "-" + digest(text)[:10]
}

// labels returns the labels of all objects of an item.
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

// meta returns the metadata of an object of an item. Objects have no owner: a deletion of the item that starts with its dependents would
// remove the state before the image has run with DELETE.
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

// itemOf returns the deploy item that an object belongs to; false if the object is not ours.
func itemOf(object metav1.Object) (client.ObjectKey, types.UID, bool) {
	namespace, name, found := strings.Cut(object.GetAnnotations()[annotationItem], "/")
	uid := object.GetLabels()[labelItem]
	return client.ObjectKey{Namespace: namespace, Name: name}, types.UID(uid), found && uid != ""
}

// specHash identifies what an item requires. The generation cannot serve this purpose: a deletion raises it in the middle of a job.
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

// operationOf returns the operation that the item's current job requires of the image.
func operationOf(item *lsv1alpha1.DeployItem) containerv1alpha1.Operation {
	if deployitem.InDeletionFlow(!item.DeletionTimestamp.IsZero(), item.Status.Phase) {
		return containerv1alpha1.OperationDelete
	}
	return containerv1alpha1.OperationReconcile
}

// runOf identifies the current run of an item: by the job, or in the continuous flow, which has no jobs, by the start of the work.
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
