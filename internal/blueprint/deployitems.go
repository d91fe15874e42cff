// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/graph"
)

// deployItem is a deploy item in the form that templates write: its target is an import, or named directly.
type deployItem struct {
	lsv1alpha1.DeployItemTemplate `json:",inline"`

	Target *targetReference `json:"target,omitempty"`
}

type targetReference struct {
	Import    string  `json:"import,omitempty"`
	Index     *int    `json:"index,omitempty"`
	Key       *string `json:"key,omitempty"`
	Name      string  `json:"name,omitempty"`
	Namespace string  `json:"namespace,omitempty"`
}

// deployItems runs the deploy executions.
func (e *execution) deployItems(namespace string, imports *dataflow.Imports) ([]lsv1alpha1.DeployItemTemplate, error) {
	var items []lsv1alpha1.DeployItemTemplate
	for _, x := range e.Blueprint.deployments {
		output, err := e.run(x, dataflow.StateDeploy, map[string]any{"imports": imports.Values})
		if err != nil {
			return nil, err
		}
		var written []deployItem
		if err := decodeList(output["deployItems"], &written); err != nil {
			return nil, failed("InvalidDeployItem", fmt.Errorf("%s: deployItems: %w", x, err))
		}
		for i := range written {
			item, err := written[i].resolve(namespace, imports)
			if err != nil {
				return nil, failed("InvalidDeployItem", fmt.Errorf("%s: deployItems[%d] (%s): %w", x, i, written[i].Name, err))
			}
			items = append(items, item)
		}
	}
	return items, checkOrder(items)
}

// typePattern is the form of the types of deploy items. Types are public, so they must not contain anything else.
var typePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`)

func (d *deployItem) resolve(namespace string, imports *dataflow.Imports) (lsv1alpha1.DeployItemTemplate, error) {
	item := d.DeployItemTemplate
	switch {
	case item.Name == "":
		return item, errors.New("name: is required")
	case item.Type == "":
		return item, errors.New("type: is required; it selects the deployer")
	case !typePattern.MatchString(string(item.Type)):
		return item, errors.New("type: must begin and end with a letter or digit, and otherwise consist of letters, digits and . _ - /")
	}
	if err := checkConfiguration(item.Configuration); err != nil {
		return item, fmt.Errorf("config%w", err)
	}
	if d.Target == nil {
		return item, nil
	}
	target, err := d.Target.resolve(namespace, imports)
	if err != nil {
		return item, fmt.Errorf("target: %w", err)
	}
	item.Target = target
	return item, nil
}

// checkConfiguration rejects everything that the API server rejects in an Execution or a DeployItem. Errors start with the part of
// their path after the field config.
func checkConfiguration(config *runtime.RawExtension) error {
	if config == nil {
		return errors.New(": is required; its apiVersion and kind belong to the deployer")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(config.Raw), []byte("{")) {
		return errors.New(": must be an object")
	}
	var head struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(config.Raw, &head); err != nil {
		return errors.New(": must be an object")
	}
	version, _ := head.APIVersion.(string)
	kind, _ := head.Kind.(string)
	_, malformed := schema.ParseGroupVersion(version)
	switch {
	case version == "":
		return errors.New(".apiVersion: is required and must be a text; it is that of the deployer's configuration")
	case malformed != nil:
		return errors.New(".apiVersion: must be GROUP/VERSION")
	case kind == "":
		return errors.New(".kind: is required and must be a text; it is that of the deployer's configuration")
	case len(validation.IsDNS1035Label(strings.ToLower(kind))) > 0:
		return errors.New(".kind: must begin with a letter and consist of letters, digits and hyphens")
	}
	return nil
}

func (r *targetReference) resolve(namespace string, imports *dataflow.Imports) (*lsv1alpha1.ObjectReference, error) {
	if (r.Import == "") == (r.Name == "") {
		return nil, errors.New("needs exactly one of import and name")
	}
	if r.Name != "" {
		if r.Namespace != "" && r.Namespace != namespace {
			return nil, fmt.Errorf("namespace: is %q, must be that of the installation", r.Namespace)
		}
		return &lsv1alpha1.ObjectReference{Name: r.Name, Namespace: namespace}, nil
	}
	target, err := imports.TargetOf(r.Import, r.Index, r.Key)
	if err != nil {
		return nil, err
	}
	return &lsv1alpha1.ObjectReference{Name: target.Name, Namespace: target.Namespace}, nil
}

// checkOrder rejects deploy items that cannot be ordered: duplicate names, unknown dependencies, and cycles.
func checkOrder(items []lsv1alpha1.DeployItemTemplate) error {
	nodes := make([]graph.Node, len(items))
	for i := range items {
		nodes[i] = graph.Node{Name: items[i].Name, DependsOn: items[i].DependsOn}
	}
	g, err := graph.New(nodes)
	if err == nil {
		_, err = g.Order()
	}
	if err != nil {
		return failed("InvalidDeployItem", fmt.Errorf("deploy items: %w", err))
	}
	return nil
}

// decodeList decodes the result of a template to a list of an API type.
func decodeList(value any, into any) error {
	if value == nil {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("must be a list of objects: " + withoutValue(err))
	}
	return nil
}

// withoutValue describes where the types do not match, without the value.
func withoutValue(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		kind, _, _ := bytes.Cut([]byte(mismatch.Value), []byte(" "))
		return fmt.Sprintf("a %s where a %s is expected, at %s", kind, mismatch.Type, strings.TrimPrefix(mismatch.Field, "DeployItemTemplate."))
	}
	return "a value has the wrong form"
}
