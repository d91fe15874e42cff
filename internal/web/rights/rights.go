// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package rights determines what a reader of the web UI may see and do, by asking the API server, and caches the answers for a while.
// Readers with the same rights form a class, and share its documents.
package rights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lifetime is how long an answer is cached.
const Lifetime = 30 * time.Second

// atOnce is the maximum number of concurrent queries per reader.
const atOnce = 8

// Right is a verb on a resource. A resource may have a subresource, as in deployitems/status.
type Right struct{ Verb, Group, Resource string }

// Command returns the command that checks the right in a terminal.
func (r Right) Command(namespace string) string {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	text := fmt.Sprintf("kubectl auth can-i %s %s", r.Verb, resource)
	if r.Group != "" {
		text += "." + r.Group
	}
	if sub != "" {
		text += " --subresource=" + sub
	}
	if namespace == "" {
		return text + " --all-namespaces"
	}
	return text + " -n " + namespace
}

// Place is where a right applies: in all namespaces if Namespace is empty, and to all objects if Name is empty.
type Place struct{ Namespace, Name string }

// Ask asks the API server whether the reader has a right at a place.
type Ask func(ctx context.Context, right Right, at Place) (bool, error)

// Self asks for the user of the client itself.
func Self(c client.Client) Ask {
	return func(ctx context.Context, right Right, at Place) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(right, at)},
		}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("ask for your rights: %w", err)
		}
		return review.Status.Allowed, nil
	}
}

// User is a user as the API server knows them.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

//espalier:rights ui
//	create subjectaccessreviews.authorization.k8s.io: what a reader may see

// Of asks for another user, with a client that may create SubjectAccessReviews.
func Of(c client.Client, user User) Ask {
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = values
	}
	return func(ctx context.Context, right Right, at Place) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra, ResourceAttributes: attributes(right, at),
		}}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("check the rights of %s: %w", user.Name, err)
		}
		return review.Status.Allowed, nil
	}
}

func attributes(right Right, at Place) *authorizationv1.ResourceAttributes {
	resource, sub, _ := strings.Cut(right.Resource, "/")
	return &authorizationv1.ResourceAttributes{
		Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: sub, Namespace: at.Namespace, Name: at.Name,
	}
}

// question is a right at a place.
type question struct {
	Right
	Place
}

type answer struct {
	allowed bool
	until   time.Time
}

// Book caches the answers about one reader.
type Book struct {
	ask Ask
	now func() time.Time

	mutex   sync.Mutex
	answers map[question]answer
}

// NewBook returns an empty Book.
func NewBook(ask Ask, now func() time.Time) *Book {
	return &Book{ask: ask, now: now, answers: map[question]answer{}}
}

// May reports whether the reader has a right. If they have it in all namespaces, single ones are not queried.
func (b *Book) May(ctx context.Context, right Right, namespace string) (bool, error) {
	everywhere, err := b.allows(ctx, question{Right: right})
	if err != nil || everywhere || namespace == "" {
		return everywhere, err
	}
	return b.allows(ctx, question{Right: right, Place: Place{Namespace: namespace}})
}

func (b *Book) allows(ctx context.Context, q question) (bool, error) {
	b.mutex.Lock()
	known, found := b.answers[q]
	b.mutex.Unlock()
	if found && b.now().Before(known.until) {
		return known.allowed, nil
	}
	allowed, err := b.ask(ctx, q.Right, q.Place)
	if err != nil {
		return false, err
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.answers[q] = answer{allowed: allowed, until: b.now().Add(Lifetime)}
	return allowed, nil
}

// Class is what readers with the same rights have in common.
type Class struct {
	// Key identifies a class.
	Key     string
	allowed map[question]bool
	// asked are the rights that were queried; others are unknown.
	asked map[Right]bool
}

// May reports whether readers of the class have a right, and whether that is known.
func (c *Class) May(right Right, namespace string) (allowed, known bool) {
	if !c.asked[right] {
		return false, false
	}
	return c.allowed[question{Right: right}] || c.allowed[question{Right: right, Place: Place{Namespace: namespace}}], true
}

// MayOne is May for a single object, to which a right may be restricted: it is known of the object that the class was made for.
func (c *Class) MayOne(right Right, at Place) (allowed, known bool) {
	allowed, known = c.May(right, at.Namespace)
	return allowed || c.allowed[question{Right: right, Place: at}], known
}

// ClassFor is Class for the page of one object. Rights that are missing in its namespace are queried again, for this object alone.
func (b *Book) ClassFor(ctx context.Context, rights []Right, namespaces []string, page Page) (*Class, error) {
	class, err := b.Class(ctx, rights, namespaces)
	if err != nil || page.Place.Name == "" {
		return class, err
	}
	for _, right := range page.Rights {
		if general, _ := class.May(right, page.Place.Namespace); general {
			continue
		}
		one := question{Right: right, Place: page.Place}
		allowed, err := b.allows(ctx, one)
		if err != nil {
			return nil, err
		}
		if allowed {
			class.allowed[one] = true
		}
	}
	class.Key = class.digest()
	return class, nil
}

// Page is one object, with the actions on it.
type Page struct {
	Place  Place
	Rights []Right
}

// Class queries rights in all namespaces, and where one is missing, in each of the given ones.
func (b *Book) Class(ctx context.Context, rights []Right, namespaces []string) (*Class, error) {
	class := &Class{allowed: map[question]bool{}, asked: map[Right]bool{}}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, right := range rights {
		class.asked[right] = true
		group.Go(func() error {
			return b.fill(ctx, right, namespaces, func(q question) {
				mutex.Lock()
				defer mutex.Unlock()
				class.allowed[q] = true
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	class.Key = class.digest()
	return class, nil
}

func (b *Book) fill(ctx context.Context, right Right, namespaces []string, allow func(question)) error {
	everywhere, err := b.May(ctx, right, "")
	if err != nil {
		return err
	}
	if everywhere {
		allow(question{Right: right})
		return nil
	}
	for _, namespace := range namespaces {
		here, err := b.allows(ctx, question{Right: right, Place: Place{Namespace: namespace}})
		if err != nil {
			return err
		}
		if here {
			allow(question{Right: right, Place: Place{Namespace: namespace}})
		}
	}
	return nil
}

func (c *Class) digest() string {
	var lines []string
	for q := range c.allowed {
		lines = append(lines, fmt.Sprintf("+%q", q))
	}
	for right := range c.asked {
		lines = append(lines, fmt.Sprintf("?%q", right))
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, line := range lines {
		_, _ = io.WriteString(sum, line) // Writing to a hash never fails.
	}
	return hex.EncodeToString(sum.Sum(nil))
}
