// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/live"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
)

const (
	// targetsAtOnce is how many clusters are looked at at the same time.
	targetsAtOnce = 16
	// targetTimeout is the default of how long one of them may take.
	targetTimeout = 10 * time.Second
	// tellAfter is when people want to know what takes so long.
	tellAfter = 2 * time.Second
	// soon is how long before the expiry of a credential the check warns.
	soon = 7 * 24 * time.Hour
	// maxUses limits the kinds and namespaces in one cluster whose rights are checked.
	maxUses = 20
)

// TargetResult is what a look at one Target has shown.
type TargetResult struct {
	Target lsv1alpha1.Target
	// Reach is what was found out about its cluster, and Err why nothing more was.
	Reach live.Reach
	Err   error
	// Rights are those of its credential, if they were checked.
	Rights   Rights
	Findings []Finding
}

// Rights is a summary of what the credential of a Target may do.
type Rights string

// Rights of a credential.
const (
	// AllRights are those of an administrator.
	AllRights Rights = "all"
	// EnoughRights let deployers do what they need for the objects that they have there.
	EnoughRights Rights = "sufficient"
	// TooFewRights do not.
	TooFewRights Rights = "insufficient"
	// SomeRights are fewer than all, in a cluster in which nothing has been deployed that would need some.
	SomeRights Rights = "limited"
)

// targets looks whether the clusters of Targets answer, with the rights of the user to read Targets and Secrets.
func (e *examination) targets(ctx context.Context) {
	var list lsv1alpha1.TargetList
	if err := e.Client.List(ctx, &list, client.InNamespace(e.Namespace)); err != nil {
		e.unknown("Targets", err)
		return
	}
	for _, result := range e.lookAt(ctx, list.Items, IsClusterTarget) {
		e.report.Findings = append(e.report.Findings, result.Findings...)
	}
}

// Targets looks at those of all Targets that are wanted, as the whole check does.
func Targets(ctx context.Context, subject Subject, all []lsv1alpha1.Target, wanted func(*lsv1alpha1.Target) bool) []TargetResult {
	e := &examination{Subject: subject}
	// What they find is not asked for here: they find out what the controllers may do, and what has been deployed.
	e.controllers(ctx)
	e.account, _ = e.accountExists(ctx)
	e.deployers(ctx)
	e.check = "targets"
	return e.lookAt(ctx, all, wanted)
}

// lookAt looks at those of all Targets that are wanted, many at the same time.
func (e *examination) lookAt(ctx context.Context, all []lsv1alpha1.Target, wanted func(*lsv1alpha1.Target) bool) []TargetResult {
	clusters := target.NewClusters(target.Options{
		Host: e.Client, HostConfig: e.Config, FewKinds: true, Dialer: dial.Rules{AllowLoopback: target.OnLoopback(e.Config)},
	})
	defer clusters.Close()
	patience := time.AfterFunc(tellAfter, func() {
		e.Access.Tell("Looking at target clusters. One that does not answer takes %s.", e.TargetTimeout)
	})
	defer patience.Stop()

	reader := live.Reader{Host: e.Client, Clusters: clusters, Limit: e.TargetTimeout, KeepTokens: !e.SendTokens}
	uses := e.usesOf(all)
	looked := slices.DeleteFunc(slices.Clone(all), func(t lsv1alpha1.Target) bool { return !wanted(&t) })
	results := make([]TargetResult, len(looked))
	var group errgroup.Group
	group.SetLimit(targetsAtOnce)
	for i := range looked {
		group.Go(func() error {
			one := &examination{Subject: e.Subject, check: e.check, account: e.account, arguments: e.arguments}
			results[i] = one.target(ctx, reader, &looked[i], uses[contentKey(&looked[i])])
			results[i].Target, results[i].Findings = looked[i], one.report.Findings
			return nil
		})
	}
	_ = group.Wait() // What went wrong is among the findings.
	return results
}

// IsClusterTarget reports whether a Target leads to a cluster and is the original. An installation that imports a Target makes a copy of
// it, which leads where the original does.
func IsClusterTarget(t *lsv1alpha1.Target) bool {
	return !objecttree.IsCopy(t) && t.Spec.Type == lsv1alpha1.TargetTypeKubernetesCluster
}

// contentKey is the same for Targets of a namespace that say the same, as an original and its copies do.
func contentKey(t *lsv1alpha1.Target) string {
	text, err := json.Marshal(t.Spec)
	if err != nil {
		return t.Namespace + "/" + t.Name
	}
	return t.Namespace + " " + string(text)
}

// usesOf are what deploy items have in the clusters of Targets, by the content of those.
func (e *examination) usesOf(targets []lsv1alpha1.Target) map[string][]live.Use {
	keys := map[client.ObjectKey]string{}
	for i := range targets {
		keys[client.ObjectKeyFromObject(&targets[i])] = contentKey(&targets[i])
	}
	uses := map[string][]live.Use{}
	for i := range e.items {
		item := &e.items[i]
		if item.Spec.Target == nil {
			continue
		}
		key, known := keys[client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}]
		for _, object := range objecttree.RecordedBy(item).Objects {
			use := live.Use{Kind: schema.FromAPIVersionAndKind(object.APIVersion, object.Kind), Namespace: object.Namespace}
			if known && len(uses[key]) < maxUses && !slices.Contains(uses[key], use) {
				uses[key] = append(uses[key], use)
			}
		}
	}
	return uses
}

// target looks at one cluster.
func (e *examination) target(ctx context.Context, reader live.Reader, t *lsv1alpha1.Target, uses []live.Use) (result TargetResult) {
	object := "Target " + t.Namespace + "/" + t.Name
	result.Reach, result.Err = reader.ReachTarget(ctx, t)
	if result.Reach.Account != "" {
		e.tokens(ctx, object, t.Namespace, result.Reach.Account)
	}
	if expired := !result.Reach.Expires.IsZero() && !result.Reach.Expires.After(e.Now); expired || result.Err == nil {
		e.expiry(object, result.Reach)
		if expired {
			return result // It says why the cluster does not answer.
		}
	}
	if result.Err != nil {
		e.unreached(t.Namespace+"/"+t.Name, result.Err)
		return result
	}
	lacking, err := reader.Lacking(ctx, t, uses)
	switch {
	case err != nil:
		e.add(Unknown, object, "leads to a cluster that does not report the rights of the credential: "+masking.Words(err), "run the check again")
	case len(lacking) > 0:
		result.Rights = TooFewRights
		e.add(Doubtful, object, "has a credential that may not do what its deploy items need: "+some(lacking),
			"give the user of the credential these rights in the target cluster")
	case len(uses) > 0:
		result.Rights = EnoughRights
	case e.AllRights:
		result.Rights = wholeRights(ctx, reader, t)
	}
	return result
}

func wholeRights(ctx context.Context, reader live.Reader, t *lsv1alpha1.Target) Rights {
	all, err := reader.MayAll(ctx, t)
	switch {
	case err != nil:
		return "" // Not every cluster answers such questions.
	case all:
		return AllRights
	}
	return SomeRights
}

// expiry tells of a credential that has ended, or will before long.
func (e *examination) expiry(object string, reach live.Reach) {
	left := reach.Expires.Sub(e.Now)
	if reach.Expires.IsZero() || left > soon {
		return
	}
	next := "put a new one into the Target, or into its Secret"
	if reach.Expiring == live.ExpiringServerCertificate {
		next = "renew the certificate of the API server of the target cluster"
	}
	end := reach.Expires.UTC().Format(time.RFC3339)
	if left <= 0 {
		e.add(Wrong, object, fmt.Sprintf("cannot be used: its %s expired at %s", reach.Expiring, end), next)
		return
	}
	e.add(Doubtful, object, fmt.Sprintf("will stop working: its %s expires at %s", reach.Expiring, end), next)
}

// faultsOfTargets are the reasons of errors that only a change of the Target, or of what it refers to, can fix.
var faultsOfTargets = []string{target.ReasonInvalid, target.ReasonRefusedAddress, target.ReasonSecretMissing, target.ReasonTokenRefused}

// unreached says why a cluster could not be looked at. What is wrong with the Target is an error. That this machine does not reach the
// cluster says little about the controllers, and that the user may not read the Secret says nothing.
func (e *examination) unreached(t string, err error) {
	object, details, words := "Target "+t, failure.DetailsOf(err), masking.Words(err)
	var unreachable *target.Unreachable
	switch {
	case errors.Is(err, live.ErrRefused):
		e.add(Wrong, object, "has a credential that its cluster rejects: it may have expired or been revoked",
			"put a new one into the Target, or into its Secret")
	case errors.Is(err, live.ErrTokenKept):
		e.add(Unknown, object, "is not checked: that would send a token of its service account to another cluster",
			"look at it with espalier tree --live, if you trust its author")
	case apierrors.IsForbidden(err):
		e.add(Unknown, object, "cannot be checked: you may not read what it refers to: "+words, "have a user with more rights run this check")
	case details.Reason == target.ReasonTokenRefused && slices.Contains(details.Codes, string(lsv1alpha1.ErrorUnauthorized)):
		e.add(Unknown, object, "cannot be checked: you may not create tokens for its service account (create serviceaccounts/token)",
			"have a user with more rights run this check")
	case errors.Is(err, context.DeadlineExceeded):
		e.add(Doubtful, object, fmt.Sprintf("leads to a cluster that did not answer this machine within %s", e.TargetTimeout),
			"check that the cluster runs and that the controllers can reach it")
	case details.Reason == target.ReasonUnreachable:
		if errors.As(err, &unreachable) {
			words = unreachable.Server + ": " + masking.Words(unreachable.Unwrap())
		}
		e.add(Doubtful, object, "leads to a cluster that this machine cannot reach: "+words,
			"check that the cluster runs and that the controllers can reach it")
	case slices.Contains(faultsOfTargets, details.Reason):
		_, why, _ := strings.Cut(words, t+": ")
		e.add(Wrong, object, "cannot be used: "+cmp.Or(why, words), "correct the Target (docs/targets.md)")
	default:
		e.add(Doubtful, object, "leads to a cluster whose version cannot be read: "+words, "run the check again")
	}
}

// tokens asks whether the controllers may create the tokens that a Target needs. In strict tenancy, tenants create them.
func (e *examination) tokens(ctx context.Context, object, namespace, account string) {
	if !e.account || e.argument("--tenancy") == "strict" {
		return
	}
	allowed, err := e.allowed(ctx, authorizationv1.ResourceAttributes{
		Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: account,
	}, []string{namespace})
	switch {
	case err != nil:
		e.unknown("the right of the controllers to create tokens for "+object, err)
	case !allowed:
		e.add(Wrong, object, fmt.Sprintf("acts as service account %s/%s, for which the controllers may not create tokens", namespace, account),
			fmt.Sprintf("kubectl -n %s create rolebinding espalier-tokens --clusterrole espalier-tokens --serviceaccount %s:%s",
				namespace, e.System, e.Account))
	}
}
