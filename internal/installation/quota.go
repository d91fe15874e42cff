// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Quota is a kind of resource that is limited per namespace.
type Quota string

// These are all quotas.
const (
	QuotaInstallations  Quota = "installations"
	QuotaDeployItems    Quota = "deploy-items"
	QuotaRenderedBytes  Quota = "rendered-bytes"
	QuotaConcurrentJobs Quota = "concurrent-jobs"
)

var quotas = []Quota{QuotaInstallations, QuotaDeployItems, QuotaRenderedBytes, QuotaConcurrentJobs}

// QuotaAnnotations is the prefix of the annotations that set the quotas of a Namespace.
const QuotaAnnotations = "quota.espalier.dev/"

// Unlimited is the value of a quota without a limit.
const Unlimited = "unlimited"

// ReasonQuotaExceeded is the reason if a job fails because it exceeds a quota of its namespace.
const ReasonQuotaExceeded = "QuotaExceeded"

// Limits are the quotas of a namespace. Zero means that there is none.
type Limits struct{ Installations, DeployItems, RenderedBytes, ConcurrentJobs int64 }

func (l *Limits) of(quota Quota) *int64 {
	switch quota {
	case QuotaInstallations:
		return &l.Installations
	case QuotaDeployItems:
		return &l.DeployItems
	case QuotaRenderedBytes:
		return &l.RenderedBytes
	default:
		return &l.ConcurrentJobs
	}
}

// Counts reports whether objects must be counted.
func (l Limits) Counts() bool { return l.Installations > 0 || l.Measures() }

// Measures reports whether the contents of objects matter.
func (l Limits) Measures() bool { return l.DeployItems > 0 || l.RenderedBytes > 0 }

// Overridden returns the limits after applying the annotations of a Namespace, and what is wrong with annotations that have no effect.
func (l Limits) Overridden(namespace string, annotations map[string]string) (limits Limits, problems []string) {
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		word, ours := strings.CutPrefix(name, QuotaAnnotations)
		if !ours {
			continue
		}
		quota := Quota(word)
		if !slices.Contains(quotas, quota) {
			problems = append(problems, fmt.Sprintf("annotation %s of namespace %s has no effect: valid quotas are %s",
				shortened(name, maxQuoted), namespace, listQuotas()))
			continue
		}
		limit, err := ParseLimit(quota, annotations[name])
		if err != nil {
			problems = append(problems, fmt.Sprintf("annotation %s of namespace %s has the invalid value %q, so the quota is %s: %v",
				name, namespace, shortened(annotations[name], maxQuoted), told(quota, *l.of(quota)), err))
			continue
		}
		*l.of(quota) = limit
	}
	return l, problems
}

// maxQuoted limits how many characters of an invalid value are quoted.
const maxQuoted = 60

func listQuotas() string {
	words := make([]string, len(quotas))
	for i, quota := range quotas {
		words[i] = string(quota)
	}
	return strings.Join(words, ", ")
}

// ParseLimit parses a quota: a number of at least 1, for bytes also with a suffix as in 64Mi, or unlimited, which is zero.
func ParseLimit(quota Quota, text string) (int64, error) {
	if text == Unlimited {
		return 0, nil
	}
	if quota == QuotaRenderedBytes {
		bytes, err := resource.ParseQuantity(text)
		if err != nil || bytes.Value() < 1 {
			return 0, fmt.Errorf("use a number of bytes of at least 1, such as 64Mi, or %s", Unlimited)
		}
		return bytes.Value(), nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("use a number of at least 1, or %s", Unlimited)
	}
	return number, nil
}

// told formats an amount for messages.
func told(quota Quota, amount int64) string {
	switch {
	case amount == 0:
		return Unlimited
	case quota == QuotaRenderedBytes && amount%1024 == 0:
		return resource.NewQuantity(amount, resource.BinarySI).String()
	default:
		return strconv.FormatInt(amount, 10)
	}
}

// Piece is an object that counts: an installation, or an execution with its deploy items.
type Piece struct {
	Kind        ChildKind
	Name        string
	DeployItems int64
	// Bytes is the size of the rendered part, as JSON.
	Bytes int64
}

// PieceOfExecution measures an execution by its spec, so that deploy items count before they exist.
func PieceOfExecution(e *lsv1alpha1.Execution) Piece {
	piece := Piece{Kind: ChildExecution, Name: e.Name}
	items, err := e.Spec.Items()
	if err != nil {
		// Invalid data: no deploy items can be created from it.
		piece.Bytes = int64(len(e.Spec.DeployItemsCompressed))
		return piece
	}
	piece.DeployItems, piece.Bytes = int64(len(items)), size(items)
	return piece
}

// PieceOfInstallation measures an installation. The spec of a root was written by a user, and not rendered.
func PieceOfInstallation(inst *lsv1alpha1.Installation) Piece {
	piece := Piece{Kind: ChildInstallation, Name: inst.Name}
	if !IsRoot(inst) {
		piece.Bytes = size(inst.Spec)
	}
	return piece
}

func size(value any) int64 {
	text, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	return int64(len(text))
}

// Pieces returns the objects that a plan writes.
func (p *Plan) Pieces() []Piece {
	var pieces []Piece
	for _, sub := range p.Subs {
		pieces = append(pieces, PieceOfInstallation(sub.Wanted))
	}
	if p.Execution != nil {
		pieces = append(pieces, PieceOfExecution(p.Execution.Wanted))
	}
	return pieces
}

// drops returns the objects that a plan deletes.
func (p *Plan) drops() []Piece {
	var pieces []Piece
	for _, orphan := range p.OrphanedSubs {
		pieces = append(pieces, Piece{Kind: ChildInstallation, Name: orphan.Name})
	}
	if p.OrphanedExecution != nil {
		pieces = append(pieces, Piece{Kind: ChildExecution, Name: p.OrphanedExecution.Name})
	}
	return pieces
}

// Stock is what a namespace contains, and its quotas, when an installation creates its plan.
type Stock struct {
	Namespace string
	Limits    Limits
	// There contains the existing objects, Coming those that others are about to write.
	There, Coming []Piece
	// Place is the position of this installation among those of the namespace, counted by age, if it is a root with nothing below it yet;
	// otherwise zero.
	Place int64
}

// Refuse returns an error for the quota that a plan exceeds, or nil. A plan is rejected as a whole, before any of its objects is written.
// A plan that needs no more than already exists continues: lowering a quota removes nothing.
func (s Stock) Refuse(p *Plan) error {
	if limit := s.Limits.Installations; limit > 0 && s.Place > limit {
		return exceeded(QuotaInstallations, fmt.Sprintf(
			"namespace %s may have at most %d installations, and %d were created before this one", s.Namespace, limit, s.Place-1))
	}
	before := usage(s.There, s.Coming)
	kept := slices.DeleteFunc(slices.Clone(s.There), func(there Piece) bool {
		return slices.ContainsFunc(p.drops(), there.is)
	})
	after := usage(kept, s.Coming, p.Pieces())
	for _, quota := range []Quota{QuotaInstallations, QuotaDeployItems, QuotaRenderedBytes} {
		limit, used, wanted := *s.Limits.of(quota), *before.of(quota), *after.of(quota)
		if limit > 0 && wanted > limit && wanted > used {
			return exceeded(quota, fmt.Sprintf("namespace %s may have at most %s %s: it has %d, and this installation needs %d more",
				s.Namespace, told(quota, limit), nounOf(quota), used, wanted-used))
		}
	}
	return nil
}

// nounOf returns the noun for what a quota counts.
func nounOf(quota Quota) string {
	switch quota {
	case QuotaDeployItems:
		return "deploy items"
	case QuotaRenderedBytes:
		return "bytes of rendered deploy items and nested installations"
	default:
		return string(quota)
	}
}

func exceeded(quota Quota, what string) error {
	return failure.Terminalf(
		failure.Details{
			Operation: "CheckQuota", Reason: ReasonQuotaExceeded, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		},
		"quota exceeded: %s. Delete installations that are no longer needed, or ask a cluster administrator to raise the quota "+
			"(annotation %s of the namespace); then start a new job", what, QuotaAnnotations+string(quota),
	)
}

// is reports whether two pieces are the same object.
func (p Piece) is(other Piece) bool { return p.Kind == other.Kind && p.Name == other.Name }

// usage adds up pieces. If an object is in several lists, the last one counts.
func usage(lists ...[]Piece) Limits {
	type object struct {
		kind ChildKind
		name string
	}
	latest := map[object]Piece{}
	for _, list := range lists {
		for _, piece := range list {
			latest[object{piece.Kind, piece.Name}] = piece
		}
	}
	var sum Limits
	for _, piece := range latest {
		if piece.Kind == ChildInstallation {
			sum.Installations++
		}
		sum.DeployItems += piece.DeployItems
		sum.RenderedBytes += piece.Bytes
	}
	return sum
}

// PlaceOf returns the position of an installation in its namespace, counted by age, if it is a root with nothing below it yet; otherwise
// zero: existing objects are not revoked.
func PlaceOf(inst *lsv1alpha1.Installation, all []*lsv1alpha1.Installation) int64 {
	if !IsRoot(inst) || inst.Status.SubInstCache != nil || inst.Status.ExecutionReference != nil {
		return 0
	}
	place := int64(1)
	for _, other := range all {
		older := cmp.Or(other.CreationTimestamp.Compare(inst.CreationTimestamp.Time), strings.Compare(other.Name, inst.Name))
		if older < 0 {
			place++
		}
	}
	return place
}
