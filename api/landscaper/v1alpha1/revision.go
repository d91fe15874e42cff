// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Fields of the spec of an Installation that can hold its revision.
const (
	RevisionFieldOCI           = "blueprint.oci.reference"
	RevisionFieldGit           = "blueprint.git.revision"
	RevisionFieldMappingPrefix = "importDataMappings."
)

// Revision returns the revision of an installation, as pipelines see and promote it: what the field holds that spec.revisionField names, or
// the version of the component. It is empty if there is none.
func (s *InstallationSpec) Revision() (string, error) {
	switch mapping, isMapping := strings.CutPrefix(s.RevisionField, RevisionFieldMappingPrefix); {
	case s.RevisionField == "":
		return s.componentVersion(), nil
	case s.RevisionField == RevisionFieldOCI && s.Blueprint.OCI != nil:
		_, tag := s.Blueprint.OCI.split()
		return tag, nil
	case s.RevisionField == RevisionFieldGit && s.Blueprint.Git != nil:
		return s.Blueprint.Git.Revision, nil
	case isMapping:
		return s.mappedText(mapping)
	default:
		return "", s.noRevision()
	}
}

// SetRevision writes another revision to where Revision finds it.
func (s *InstallationSpec) SetRevision(revision string) error {
	switch mapping, isMapping := strings.CutPrefix(s.RevisionField, RevisionFieldMappingPrefix); {
	case s.RevisionField == "" && s.ComponentDescriptor != nil && s.ComponentDescriptor.Reference != nil:
		s.ComponentDescriptor.Reference.Version = revision
	case s.RevisionField == "":
		return errors.New("there is no spec.componentDescriptor.ref, whose version could be set: " +
			"refer to a component in a repository, or say in spec.revisionField which field holds the revision")
	case s.RevisionField == RevisionFieldOCI && s.Blueprint.OCI != nil:
		return s.Blueprint.OCI.setTag(revision)
	case s.RevisionField == RevisionFieldGit && s.Blueprint.Git != nil:
		s.Blueprint.Git.Revision = revision
	case isMapping:
		return s.setMappedText(mapping, revision)
	default:
		return s.noRevision()
	}
	return nil
}

func (s *InstallationSpec) noRevision() error {
	return fmt.Errorf("spec.revisionField names %s, which is not set in the spec: set it, or name %s, %s or %sNAME",
		s.RevisionField, RevisionFieldOCI, RevisionFieldGit, RevisionFieldMappingPrefix)
}

func (s *InstallationSpec) componentVersion() string {
	definition := s.ComponentDescriptor
	switch {
	case definition == nil:
		return ""
	case definition.Reference != nil:
		return definition.Reference.Version
	case definition.Inline != nil:
		var descriptor struct {
			Component struct {
				Version string `json:"version"`
			} `json:"component"`
			Metadata struct {
				Version string `json:"version"`
			} `json:"metadata"`
		}
		// What is no descriptor has no version.
		_ = json.Unmarshal(definition.Inline.Raw, &descriptor)
		if descriptor.Component.Version != "" {
			return descriptor.Component.Version
		}
		return descriptor.Metadata.Version
	default:
		return ""
	}
}

// mappedText returns the text of a mapping. A template is not a revision: only the blueprint knows its result.
func (s *InstallationSpec) mappedText(name string) (string, error) {
	value, found := s.ImportDataMappings[name]
	if !found {
		return "", s.noRevision()
	}
	var text string
	if err := json.Unmarshal(value.Raw, &text); err != nil || strings.Contains(text, "((") {
		return "", fmt.Errorf("spec.revisionField names %s, which must be a text that is no template", s.RevisionField)
	}
	return text, nil
}

func (s *InstallationSpec) setMappedText(name, revision string) error {
	if _, err := s.mappedText(name); err != nil {
		return err
	}
	text, err := json.Marshal(revision)
	if err != nil {
		return err
	}
	s.ImportDataMappings[name] = AnyJSON{Raw: text}
	return nil
}

// split returns the repository and the tag of a reference, without its digest.
func (b *OCIBlueprint) split() (repository, tag string) {
	name, _, _ := strings.Cut(b.Reference, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		return name[:colon], name[colon+1:]
	}
	return name, ""
}

// setTag sets another tag. The digest, which belongs to the old one, goes.
func (b *OCIBlueprint) setTag(tag string) error {
	if tag == "" || strings.ContainsAny(tag, ":/@ ") {
		return fmt.Errorf("the revision %q cannot be a tag of an OCI artifact", tag)
	}
	repository, _ := b.split()
	b.Reference = repository + ":" + tag
	return nil
}
