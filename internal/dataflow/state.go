// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"slices"
)

// StateKind identifies the executions of a blueprint that a state belongs to.
type StateKind string

// These are the kinds of executions that keep a state. Their values are part of the names of the Secrets.
const (
	StateDeploy          StateKind = "deploy"
	StateSubinstallation StateKind = "subinst"
	StateExport          StateKind = "export"
)

// StateSecretKey is the key of a state in its Secret.
const StateSecretKey = "config"

// StateSecret returns the name of the Secret with the state of an executor.
func StateSecret(installation string, kind StateKind, executor string) string {
	return hashedName(installation + "/" + string(kind) + executor)
}

// AnswersSecret returns the name of the Secret with the answers of clusters to templates of an installation, under StateSecretKey. No
// state uses this name, because kinds of states have other names.
func AnswersSecret(installation string) string { return hashedName(installation + "/answers") }

// AnswersIn returns the kubeconfigs among the answers in such a Secret.
func AnswersIn(data map[string][]byte) []string {
	var stored struct {
		Answers []struct {
			Kubeconfig string `json:"kubeconfig"`
		} `json:"answers"`
	}
	if json.Unmarshal(data[StateSecretKey], &stored) != nil {
		return nil
	}
	var kubeconfigs []string
	for _, answer := range stored.Answers {
		kubeconfigs = append(kubeconfigs, answer.Kubeconfig)
	}
	return kubeconfigs
}

// OlderStateSecret returns the Secret in which older controllers stored the state of an executor, if it differs from StateSecret. It is
// read when StateSecret does not exist, and never written.
//
// Older controllers stored the states of deploy and subinstallation executors under the same names. So an executor for subinstallations
// finds its old state under the name of a deploy executor, unless the blueprint has a deploy executor of the same name: deploy executors
// ran last, so the stored state is theirs. Once the state is stored under the new name, the old Secret of an executor for
// subinstallations is unused and can be deleted.
func OlderStateSecret(installation string, kind StateKind, executor string, deployExecutors []string) (string, bool) {
	if kind != StateSubinstallation || slices.Contains(deployExecutors, executor) {
		return "", false
	}
	return StateSecret(installation, StateDeploy, executor), true
}
