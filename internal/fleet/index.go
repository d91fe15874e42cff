// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "k8s.io/apimachinery/pkg/types"

// index counts references. It finds the pipelines of an application at a cost independent of the number of other pipelines.
type index struct {
	means map[types.NamespacedName]map[Application]bool // by pipeline
	users map[Application]map[types.NamespacedName]bool
}

func newIndex() *index {
	return &index{means: map[types.NamespacedName]map[Application]bool{}, users: map[Application]map[types.NamespacedName]bool{}}
}

// replace sets the applications of a pipeline. begun are those without references before, ended those without references now.
func (x *index) replace(pipeline types.NamespacedName, applications []Application) (begun, ended []Application) {
	before, now := x.means[pipeline], map[Application]bool{}
	for _, application := range applications {
		if now[application] {
			continue
		}
		now[application] = true
		if x.users[application] == nil {
			x.users[application] = map[types.NamespacedName]bool{}
			begun = append(begun, application)
		}
		x.users[application][pipeline] = true
	}
	for application := range before {
		if now[application] {
			continue
		}
		delete(x.users[application], pipeline)
		if len(x.users[application]) == 0 {
			delete(x.users, application)
			ended = append(ended, application)
		}
	}
	if x.means[pipeline] = now; len(now) == 0 {
		delete(x.means, pipeline)
	}
	return begun, ended
}

// appendUsers appends the pipelines that refer to the application.
func (x *index) appendUsers(pipelines []types.NamespacedName, application Application) []types.NamespacedName {
	for pipeline := range x.users[application] {
		pipelines = append(pipelines, pipeline)
	}
	return pipelines
}
