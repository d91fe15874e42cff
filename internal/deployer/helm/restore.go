// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/kube"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"

	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/readiness"
)

// restore corrects differences from a deployed revision without creating another one: objects that another client has deleted or
// changed. It records which objects are ready, and returns what it has changed.
func (h *handle) restore(r *release.Release, memory apply.Memory) (string, error) {
	objects, err := objectsOf(r, h.cluster.Mapper(), h.reference.Namespace)
	if err != nil {
		return "", err
	}
	verdicts := make([]apply.Verdict, len(objects))
	states := make([]apply.Applied, len(objects))
	errs := make([]error, len(objects))
	cluster.Each(len(objects), func(i int) { verdicts[i], states[i], errs[i] = h.compare(h.ctx, objects[i]) })
	if err := cluster.Join(errs); err != nil {
		return "", err
	}
	var wrong []apply.Object
	for i, o := range objects {
		memory[o.Key()] = states[i]
		if verdicts[i] != apply.Unchanged {
			wrong = append(wrong, o)
		}
	}
	if len(wrong) == 0 {
		return "", nil
	}
	changed, err := h.rewrite(r, wrong)
	for _, o := range wrong {
		memory[o.Key()] = unseen(h.cluster, o)
	}
	return changed, err
}

// unseen returns the entry of an object that was written and not read since.
func unseen(target cluster.Cluster, o apply.Object) apply.Applied {
	return apply.Applied{Subject: cluster.SubjectOf(target, o.Manifest), Missing: "not checked yet"}
}

func (h *handle) compare(ctx context.Context, o apply.Object) (apply.Verdict, apply.Applied, error) {
	subject := cluster.SubjectOf(h.cluster, o.Manifest)
	live, err := subject.Read(ctx)
	if isGone(err) {
		return apply.Created, apply.Applied{}, nil
	}
	if err != nil {
		return apply.Unchanged, apply.Applied{}, cluster.Refused("read", subject, err)
	}
	state := readiness.Of(live)
	seen := apply.Applied{Subject: subject, UID: live.GetUID(), Ready: state.Ready, Missing: state.Missing}
	if apply.Drifted(live, o.Manifest) && live.GetDeletionTimestamp() == nil {
		return apply.Changed, seen, nil
	}
	return apply.Unchanged, seen, nil
}

// rewrite makes Helm write objects as in an upgrade to the same revision.
func (h *handle) rewrite(r *release.Release, objects []apply.Object) (string, error) {
	var stream bytes.Buffer
	for _, o := range objects {
		text, err := json.Marshal(o.Manifest.Object)
		if err != nil {
			return "", err
		}
		stream.WriteString("---\n")
		stream.Write(append(text, '\n'))
	}
	before, err := h.kube.Build(bytes.NewReader(stream.Bytes()), false)
	if err != nil {
		return "", err
	}
	targets, err := h.kube.Build(&stream, false)
	if err != nil {
		return "", err
	}
	if err := targets.Visit(h.mark); err != nil {
		return "", err
	}
	result, err := h.kube.Update(before, targets,
		kube.ClientUpdateOptionServerSideApply(r.ApplyMethod == string(release.ApplyMethodServerSideApply), false),
	)
	if err != nil || result == nil {
		return "", err
	}
	return describe(result), nil
}

// mark puts Helm's marks of the release on an object.
func (h *handle) mark(info *resource.Info, err error) error {
	if err != nil {
		return err
	}
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return err
	}
	object.SetLabels(with(object.GetLabels(), map[string]string{managedByLabel: managedByHelm}))
	object.SetAnnotations(with(object.GetAnnotations(), h.releaseAnnotations()))
	return nil
}

func (h *handle) releaseAnnotations() map[string]string {
	return map[string]string{nameAnnotation: h.reference.Name, namespaceAnnotation: h.reference.Namespace}
}

func with(entries, more map[string]string) map[string]string {
	if entries == nil {
		entries = map[string]string{}
	}
	for key, value := range more {
		entries[key] = value
	}
	return entries
}

// maxNamed is the maximum number of objects named in a message.
const maxNamed = 5

func describe(result *kube.Result) string {
	var parts []string
	for _, info := range result.Created {
		parts = append(parts, "created "+infoName(info))
	}
	for _, info := range result.Updated {
		parts = append(parts, "corrected "+infoName(info))
	}
	slices.Sort(parts)
	if more := len(parts) - maxNamed; more > 0 {
		parts = append(parts[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func infoName(info *resource.Info) string {
	name := info.Mapping.GroupVersionKind.Kind + " "
	if info.Namespace != "" {
		name += info.Namespace + "/"
	}
	return name + info.Name
}
