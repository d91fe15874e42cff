// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// usualAddress is the address in the manifests of the example.
var usualAddress = fmt.Sprintf("http://127.0.0.1:%d/", usualPort)

// Names of Secrets in the manifests of the example.
const (
	tokenSecret = "git"
	loginSecret = "gitea"
)

// Namespace of the pipeline, and of the Secrets.
const namespace = "gitops"

// PasswordCommand returns the command that prints the password of the user.
func (s *Server) PasswordCommand() string {
	return "espalier kubectl -n " + namespace + " get secret " + loginSecret + " -o go-template='{{.data.password | base64decode}}'"
}

// NextCommand returns the command that shows what the pipeline waits for.
func (s *Server) NextCommand() string {
	return "espalier pipeline why " + repository + " -n " + namespace
}

// addressFields are the fields with the address of the repository, by kind.
var addressFields = map[string][]string{
	"Installation": {"spec", "blueprint", "git", "url"},
	"Pipeline":     {"spec", "promotion", "strategy", "pull-request", "url"},
}

// Fill writes the address of this Gitea into the objects of the example, and its credentials into their Secrets.
func (s *Server) Fill(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		object.Object = s.readdress(object.Object).(map[string]any)
		if values := s.secret(object); values != nil {
			object.Object["stringData"] = values
		}
	}
}

// Renewal returns a merge patch for an object that an earlier start has created, or nil if it is up to date. It changes credentials, and
// addresses of an earlier Gitea of this example. Addresses that the user has chosen stay.
func (s *Server) Renewal(existing *unstructured.Unstructured) map[string]any {
	if values := s.secret(existing); values != nil {
		return map[string]any{"stringData": values}
	}
	field := addressFields[existing.GetKind()]
	address, _, _ := unstructured.NestedString(existing.Object, field...)
	isOurs := strings.HasPrefix(address, "http://127.0.0.1:") && strings.HasSuffix(address, "/"+user+"/"+repository)
	if !isOurs || address == s.RepositoryURL() {
		return nil
	}
	patch := map[string]any{}
	_ = unstructured.SetNestedField(patch, s.RepositoryURL(), field...) // An empty patch has nothing in the way.
	return patch
}

// secret returns the values of a Secret of the example, or nil for any other object.
func (s *Server) secret(object *unstructured.Unstructured) map[string]any {
	if object.GetKind() != "Secret" {
		return nil
	}
	switch object.GetName() {
	case tokenSecret:
		return map[string]any{"token": s.state.Token, "username": user, "password": s.state.Token}
	case loginSecret:
		return map[string]any{"url": s.URL(), "username": user, "password": s.state.Password}
	default:
		return nil
	}
}

// readdress returns the value with the address of this Gitea in every text that starts with the usual one.
func (s *Server) readdress(value any) any {
	switch value := value.(type) {
	case string:
		if path, found := strings.CutPrefix(value, usualAddress); found {
			return s.URL() + "/" + path
		}
		return value
	case map[string]any:
		for key, inner := range value {
			value[key] = s.readdress(inner)
		}
		return value
	case []any:
		for i, inner := range value {
			value[i] = s.readdress(inner)
		}
		return value
	default:
		return value
	}
}
