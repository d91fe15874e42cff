// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"

	eventsv1 "k8s.io/api/events/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

// Rights reports whether the reader may do something. A resource may have a subresource, as in deployitems/status; an empty namespace means
// all of them.
type Rights func(verb, group, resource, namespace string) bool

// right is a right that a user has or lacks.
type right struct{ verb, group, resource, namespace string }

func (s Scene) may(r right) bool {
	return s.Rights == nil || s.Rights(r.verb, r.group, r.resource, r.namespace)
}

// full returns the resource with its group, as kubectl expects it.
func (r right) full() string {
	resource, sub, divided := strings.Cut(r.resource, "/")
	full := resource + "." + r.group
	if divided {
		full += "/" + sub
	}
	return full
}

// where says in which namespaces the right applies.
func (r right) where() string {
	if r.namespace == "" {
		return "in all namespaces"
	}
	return "in namespace " + r.namespace
}

// check returns the command that checks the right.
func (r right) check() string {
	if r.namespace == "" {
		return words("kubectl", "auth", "can-i", r.verb, r.full(), "-A")
	}
	return words("kubectl", "auth", "can-i", r.verb, r.full(), "-n", r.namespace)
}

// missing says that the right is missing, and how to check it.
func (r right) missing() string {
	return fmt.Sprintf("You may not %s %s %s. To check: %s. Ask an administrator of this cluster to grant it.",
		r.verb, r.full(), r.where(), r.check())
}

// denied says why the reader may not do something; empty if they may.
func (s Scene) denied(r right) string {
	if s.may(r) {
		return ""
	}
	return r.missing()
}

// listed is a resource whose objects appear in documents, with their name for people.
type listed struct{ group, resource, plural string }

var (
	listedInstallations = listed{lsv1alpha1.GroupName, "installations", "Installations"}
	listedExecutions    = listed{lsv1alpha1.GroupName, "executions", "Executions"}
	listedDeployItems   = listed{lsv1alpha1.GroupName, "deployitems", "Deploy items"}
	listedDataObjects   = listed{lsv1alpha1.GroupName, "dataobjects", "Values"}
	listedTargets       = listed{lsv1alpha1.GroupName, "targets", "Targets"}
	listedPipelines     = listed{pipelinesv1alpha1.GroupName, "pipelines", "Pipelines"}
	listedEvents        = listed{eventsv1.GroupName, "events", "Events"}
)

// hidden reports what is missing in a document because the reader may not list it. Without a namespace, objects of some namespaces may
// still be present.
func (s Scene) hidden(namespace string, wanted ...listed) []string {
	found := []string{}
	for _, l := range wanted {
		r := right{"list", l.group, l.resource, namespace}
		switch {
		case s.may(r):
		case namespace == "":
			found = append(found, fmt.Sprintf("%s of some namespaces may be missing here. %s", l.plural, r.missing()))
		default:
			found = append(found, fmt.Sprintf("%s are missing here. %s", l.plural, r.missing()))
		}
	}
	return found
}

func (s Scene) mayList(l listed, namespace string) bool {
	return s.may(right{"list", l.group, l.resource, ""}) || s.may(right{"list", l.group, l.resource, namespace})
}
