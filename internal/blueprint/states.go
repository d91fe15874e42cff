// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/json"
	"fmt"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/template"
)

// storedState is a state that templates of a blueprint may have stored: its owner and its location.
type storedState struct {
	kind     dataflow.StateKind
	executor string
	// secret is the Secret in which it is written, older an alternative location, possibly empty.
	secret, older string
}

func (b *Blueprint) storedStates(installation string) []storedState {
	var deployers []string
	for _, x := range b.deployments {
		deployers = append(deployers, x.name)
	}
	var stored []storedState
	for _, list := range []struct {
		kind      dataflow.StateKind
		executors []executor
	}{{dataflow.StateDeploy, b.deployments}, {dataflow.StateSubinstallation, b.subinstallations}, {dataflow.StateExport, b.exports}} {
		for _, x := range list.executors {
			s := storedState{kind: list.kind, executor: x.name, secret: dataflow.StateSecret(installation, list.kind, x.name)}
			s.older, _ = dataflow.OlderStateSecret(installation, list.kind, x.name, deployers)
			stored = append(stored, s)
		}
	}
	return stored
}

// StateSecrets returns the names of the Secrets that LoadStates needs; most of them may not exist.
func (b *Blueprint) StateSecrets(installation string) []string {
	var names []string
	for _, s := range b.storedStates(installation) {
		names = append(names, s.secret)
		if s.older != "" {
			names = append(names, s.older)
		}
	}
	if b.AsksClusters() {
		names = append(names, dataflow.AnswersSecret(installation))
	}
	return names
}

// LoadStates reads the states of an installation's templates, from the contents of Secrets by name.
func (b *Blueprint) LoadStates(installation string, secrets map[string]map[string][]byte) (States, error) {
	states := States{}
	for _, s := range b.storedStates(installation) {
		name := s.secret
		content, found := secrets[name]
		if !found && s.older != "" {
			name = s.older
			content, found = secrets[name]
		}
		if !found {
			continue
		}
		decoded, err := template.DecodeYAML(string(content[dataflow.StateSecretKey]), template.Limits{})
		state, isObject := decoded.(map[string]any)
		if err != nil || decoded != nil && !isObject {
			return nil, invalid(
				fmt.Errorf("the state of %s in Secret %s cannot be read: its key %q is not a JSON object; delete the Secret to start over",
					s.executor, name, dataflow.StateSecretKey),
			)
		}
		if state == nil {
			state = map[string]any{}
		}
		states.set(s.kind, s.executor, state)
	}
	return states, nil
}

// Secrets returns the states as contents of Secrets by name.
func (s States) Secrets(installation string) (map[string]map[string][]byte, error) {
	secrets := map[string]map[string][]byte{}
	for kind, executors := range s {
		for executor, state := range executors {
			text, err := json.Marshal(state)
			if err != nil {
				return nil, failed("InvalidState", fmt.Errorf("the state of %s has no JSON form", executor))
			}
			secrets[dataflow.StateSecret(installation, kind, executor)] = map[string][]byte{dataflow.StateSecretKey: text}
		}
	}
	return secrets, nil
}
