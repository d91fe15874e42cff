// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Attributes of identities that every element has.
const (
	identityName    = "name"
	identityVersion = "version"
)

// Identity distinguishes elements of one kind within a descriptor: the name, the extra identity, and the version where
// those are not sufficient.
type Identity map[string]string

// Named returns the identity of an element with a unique name.
func Named(name string) Identity { return Identity{identityName: name} }

// String lists the attributes, the name first. Different identities have different texts.
func (i Identity) String() string {
	parts := make([]string, 0, len(i))
	for _, key := range slices.Sorted(maps.Keys(i)) {
		part := quoted(key) + "=" + quoted(i[key])
		if key == identityName {
			parts = slices.Insert(parts, 0, part)
		} else {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ",")
}

// quoted quotes an ambiguous text.
func quoted(text string) string {
	if text == "" || strings.ContainsAny(text, ",=\"\\ \t\n") || strconv.Quote(text) != `"`+text+`"` {
		return strconv.Quote(text)
	}
	return text
}

// fullIdentity returns the identity with the version, even if it is not needed.
func (e *Element) fullIdentity() Identity {
	identity := Identity(maps.Clone(e.ExtraIdentity))
	if identity == nil {
		identity = Identity{}
	}
	identity[identityName] = e.Name
	if _, own := identity[identityVersion]; !own && e.Version != "" {
		identity[identityVersion] = e.Version
	}
	return identity
}

// matches reports whether the element has all attributes of a selector.
func (e *Element) matches(selector Identity) bool {
	for key, value := range selector {
		if own, found := e.attribute(key); !found || own != value {
			return false
		}
	}
	return true
}

// attribute returns an attribute of the full identity.
func (e *Element) attribute(key string) (string, bool) {
	if key == identityName {
		return e.Name, true
	}
	if value, own := e.ExtraIdentity[key]; own {
		return value, true
	}
	return e.Version, key == identityVersion && e.Version != ""
}

// identityAmong returns the identity of an element among its kind.
func (e *Element) identityAmong(all []*Element) Identity {
	identity := e.fullIdentity()
	if _, own := e.ExtraIdentity[identityVersion]; own {
		return identity
	}
	namesakes := 0
	for _, other := range all {
		if other.Name == e.Name && sameButVersion(other.ExtraIdentity, e.ExtraIdentity) {
			namesakes++
		}
	}
	if namesakes < 2 {
		delete(identity, identityVersion)
	}
	return identity
}

func sameButVersion(a, b map[string]string) bool {
	covers := func(a, b map[string]string) bool {
		for key, value := range a {
			if other, found := b[key]; key != identityVersion && (!found || other != value) {
				return false
			}
		}
		return true
	}
	return covers(a, b) && covers(b, a)
}

var errAmbiguous = errors.New("several match")

// find returns the index of the one element that a selector selects: the one with exactly this identity, otherwise the only one that has
// all the attributes. It returns -1 if there is none.
func find(elements []*Element, selector Identity) (int, error) {
	found := -1
	for i, e := range elements {
		if !e.matches(selector) {
			continue
		}
		if maps.Equal(e.identityAmong(elements), selector) {
			return i, nil
		}
		if found >= 0 {
			found = len(elements)
		} else {
			found = i
		}
	}
	if found == len(elements) && found > 0 {
		return -1, errAmbiguous
	}
	return found, nil
}

func elementsOf[T any](list []T, element func(*T) *Element) []*Element {
	elements := make([]*Element, len(list))
	for i := range list {
		elements[i] = element(&list[i])
	}
	return elements
}

func (d *Descriptor) resourceElements() []*Element {
	return elementsOf(d.Resources, func(r *Resource) *Element { return &r.Element })
}

func (d *Descriptor) referenceElements() []*Element {
	return elementsOf(d.References, func(r *Reference) *Element { return &r.Element })
}

// Resource returns the one resource that a selector selects. The selector names attributes of the identity; a name is enough if only one
// resource has it.
func (d *Descriptor) Resource(selector Identity) (*Resource, error) {
	elements := d.resourceElements()
	i, err := find(elements, selector)
	if err != nil || i < 0 {
		return nil, fmt.Errorf("component %s: %w", d.ID(), notOne("resource", selector, elements, err))
	}
	return &d.Resources[i], nil
}

// Reference returns the one reference that a selector selects, as Resource does.
func (d *Descriptor) Reference(selector Identity) (*Reference, error) {
	elements := d.referenceElements()
	i, err := find(elements, selector)
	if err != nil || i < 0 {
		return nil, fmt.Errorf("component %s: %w", d.ID(), notOne("component reference", selector, elements, err))
	}
	return &d.References[i], nil
}

// IdentityOf returns the identity of one of the descriptor's resources.
func (d *Descriptor) IdentityOf(r *Resource) Identity { return r.identityAmong(d.resourceElements()) }

// notOne says that a selector does not select exactly one element, and lists the elements.
func notOne(kind string, selector Identity, elements []*Element, cause error) error {
	candidates := elements
	if errors.Is(cause, errAmbiguous) {
		candidates = slices.DeleteFunc(slices.Clone(elements), func(e *Element) bool { return !e.matches(selector) })
		return fmt.Errorf("%d %ss match %s, be more specific: %s", len(candidates), kind, selector, listElements(candidates))
	}
	return fmt.Errorf("there is no %s with %s; %s", kind, selector, has(kind, listElements(candidates)))
}

func has(kind, list string) string {
	if list == "" {
		return "it has none"
	}
	return "it has the " + kind + "s " + list
}

// maxListed is how many elements an error message lists.
const maxListed = 10

func listElements(elements []*Element) string {
	var texts []string
	for _, e := range elements[:min(len(elements), maxListed)] {
		texts = append(texts, strings.TrimPrefix(e.identityAmong(elements).String(), identityName+"="))
	}
	return joinListed(texts, len(elements))
}

// joinListed joins the first texts of a list that has total entries.
func joinListed(texts []string, total int) string {
	text := strings.Join(texts, "; ")
	if total > len(texts) {
		text += fmt.Sprintf("; and %d more", total-len(texts))
	}
	return text
}
