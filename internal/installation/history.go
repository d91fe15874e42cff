// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// The history of a root contains the specs that its runs took into account. It is part of the status, so it needs no separate request: the
// write that starts a run adds the spec, and the write that ends it adds the result. The limits keep the object far below the 1.5 MiB that
// the API server stores: a status that cannot be written stops the installation.
const (
	maxRevisions = 5
	// maxSpec and maxPacked limit the size of a kept spec in bytes, uncompressed and compressed.
	maxSpec, maxPacked = 512 << 10, 64 << 10
	// maxPackedTotal limits the total of an installation's kept specs.
	maxPackedTotal = 128 << 10
	// maxComponentWord limits the name and version of a component in the history, in characters.
	maxComponentWord = 256
)

// noteStart puts a new spec at the head of the history when a job starts. The job may have to wait, and use another spec in the end: so a
// revision with an unchanged spec keeps the result of its last job until this one uses it.
func noteStart(inst *lsv1alpha1.Installation, o Observed) {
	if history := inst.Status.History; len(history) == 0 || history[0].SpecHash != SpecHash(inst.Spec) {
		noteSpec(inst, o)
	}
}

// noteSpec puts the spec that a run takes into account at the head of the history. Consecutive runs with the same spec share a revision. A
// spec that is replaced before the job has used it leaves no revision, unless it succeeded earlier. Deletions use no spec.
func noteSpec(inst *lsv1alpha1.Installation, o Observed) {
	if o.Deleting || !IsRoot(inst) {
		return
	}
	text, err := canonicalSpec(inst.Spec)
	if err != nil {
		return // A spec that is not JSON was never stored.
	}
	next := lsv1alpha1.SpecRevision{
		Revision: 1, Generation: inst.Generation, StartTime: metav1.NewTime(o.Now), SpecHash: hashOfSpec(text),
	}
	if !o.Continuous {
		next.JobID = inst.Status.JobID
	}
	next, earlier, known := place(next, inst.Status.History)
	if !known {
		next.ComponentName, next.ComponentVersion = componentOf(&inst.Spec)
		keepSpec(&next, text)
	}
	earlier = earlier[:min(len(earlier), maxRevisions-1)]
	inst.Status.History = withinLimits(append([]lsv1alpha1.SpecRevision{next}, earlier...), len(text))
}

// place returns a revision as the new head of the history, the revisions that follow it, and whether its spec is already known.
func place(next lsv1alpha1.SpecRevision, history []lsv1alpha1.SpecRevision) (lsv1alpha1.SpecRevision, []lsv1alpha1.SpecRevision, bool) {
	if len(history) == 0 {
		return next, nil, false
	}
	last, before := history[0], history[1:]
	sameJob := last.JobID != "" && last.JobID == next.JobID
	switch {
	case last.SpecHash == next.SpecHash && sameJob:
		return last, before, true
	case last.SpecHash == next.SpecHash:
		return again(last, next), before, true
	case sameJob && last.SucceededTime == nil:
		return replace(last, next, before)
	default:
		next.Revision = last.Revision + 1
		return next, history, false
	}
}

// replace is place for a spec that replaces one that its job has not used.
func replace(
	unused, next lsv1alpha1.SpecRevision, before []lsv1alpha1.SpecRevision,
) (lsv1alpha1.SpecRevision, []lsv1alpha1.SpecRevision, bool) {
	next.StartTime = unused.StartTime
	if len(before) > 0 && before[0].SpecHash == next.SpecHash {
		return again(before[0], next), before[1:], true
	}
	next.Revision = unused.Revision
	return next, before, false
}

// again returns a revision for another run with the same spec.
func again(last, next lsv1alpha1.SpecRevision) lsv1alpha1.SpecRevision {
	last.JobID, last.Generation, last.StartTime = next.JobID, next.Generation, next.StartTime
	last.EndTime, last.Result = nil, ""
	return last
}

// noteResult adds the result of a run to the revision that it used.
func noteResult(inst *lsv1alpha1.Installation, ended metav1.Time, o Observed) {
	status := &inst.Status
	if len(status.History) == 0 {
		return
	}
	last := status.History[0]
	if o.Continuous && (o.Deleting || last.Generation != status.ObservedGeneration) || !o.Continuous && last.JobID != status.JobID {
		return
	}
	last.EndTime, last.Result = &ended, status.Phase
	if status.Phase == lsv1alpha1.PhaseSucceeded {
		last.SucceededTime = &ended
	}
	status.History = append([]lsv1alpha1.SpecRevision{last}, status.History[1:]...)
}

// canonicalSpec returns a spec as JSON with sorted keys, however it was written. Numbers keep all their digits.
func canonicalSpec(spec lsv1alpha1.InstallationSpec) ([]byte, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func hashOfSpec(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// SpecHash returns the hash that identifies a spec in the history; empty if the spec is not JSON.
func SpecHash(spec lsv1alpha1.InstallationSpec) string {
	text, err := canonicalSpec(spec)
	if err != nil {
		return ""
	}
	return hashOfSpec(text)
}

// componentOf returns the component that a spec names, or contains.
func componentOf(spec *lsv1alpha1.InstallationSpec) (name, version string) {
	type identity struct{ Name, Version string }
	var inline struct{ Component, Metadata identity }
	switch component := spec.ComponentDescriptor; {
	case component == nil:
	case component.Reference != nil:
		name, version = component.Reference.ComponentName, component.Reference.Version
	case component.Inline != nil && component.Inline.Decode(&inline) == nil:
		// There are two formats of component descriptors: one has the identity in component, the other in metadata.
		if inline.Component.Name == "" {
			inline.Component = inline.Metadata
		}
		name, version = inline.Component.Name, inline.Component.Version
	}
	return shortened(name, maxComponentWord), shortened(version, maxComponentWord)
}

// packers are reused: each has large tables. Other compression levels clear their tables before each use, which takes longer than the
// compression.
var packers = sync.Pool{New: func() any {
	packer, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // The level is a constant.
	}
	return packer
}}

// keepSpec adds the compressed spec, unless it is too large. The same spec yields the same bytes.
func keepSpec(revision *lsv1alpha1.SpecRevision, text []byte) {
	var packed bytes.Buffer
	if len(text) <= maxSpec {
		packer, _ := packers.Get().(*gzip.Writer)
		packer.Reset(&packed)
		_, err := packer.Write(text)
		err = errors.Join(err, packer.Close())
		packers.Put(packer)
		if err == nil && packed.Len() <= maxPacked {
			revision.Spec = packed.Bytes()
			return
		}
	}
	revision.SpecTooLarge = true
}

// withinLimits drops the oldest specs if all of them together are too large. Beside a very large current spec, it keeps none.
func withinLimits(history []lsv1alpha1.SpecRevision, present int) []lsv1alpha1.SpecRevision {
	room := maxPackedTotal
	if present > maxSpec {
		room = 0
	}
	for i := range history {
		if room -= len(history[i].Spec); room < 0 {
			history[i].Spec = nil
		}
	}
	return slices.Clip(history)
}

// ErrSpecNotKept means that the spec of a revision is not kept.
var ErrSpecNotKept = errors.New("its spec is not kept")

// KeptSpec returns the spec of a revision, as JSON. Users can edit the status: a spec that is damaged, that does not match its hash, or
// that exceeds the limits is an error.
func KeptSpec(revision lsv1alpha1.SpecRevision) (json.RawMessage, error) {
	switch {
	case revision.SpecTooLarge:
		return nil, fmt.Errorf("%w: it has more than %d KiB, or more than %d KiB compressed", ErrSpecNotKept, maxSpec>>10, maxPacked>>10)
	case len(revision.Spec) == 0:
		return nil, fmt.Errorf("%w any more: later ones need the space, which is %d KiB for all of them", ErrSpecNotKept, maxPackedTotal>>10)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(revision.Spec))
	if err != nil {
		return nil, fmt.Errorf("its spec is damaged: it is not compressed with gzip: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, maxSpec+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its spec is damaged: %w", err)
	case len(text) > maxSpec:
		return nil, fmt.Errorf("its spec is damaged: it has more than %d KiB, and no spec of that size is kept", maxSpec>>10)
	case hashOfSpec(text) != revision.SpecHash:
		return nil, errors.New("its spec is damaged: it does not match specHash")
	}
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, fmt.Errorf("its spec is damaged: it is not a JSON object: %w", err)
	}
	return text, nil
}
