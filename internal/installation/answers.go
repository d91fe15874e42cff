// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// MaxAnswers is how many different calls of clusters the templates of an installation may make per job.
const MaxAnswers = 64

// storedAnswers are the answers of clusters as stored in a Secret. They are kept for the job that requested them, so that a repeated pass,
// and the exports of the same job, use the same answers, and so that errors can mask them.
type storedAnswers struct {
	Version string         `json:"version"`
	Answers []storedAnswer `json:"answers"`
}

type storedAnswer struct {
	blueprint.ClusterCall
	blueprint.Answer
}

// LoadAnswers returns the answers that clusters have already given in the same job. The result is never nil, so answers can be added to it.
func LoadAnswers(in Inputs) blueprint.Answers {
	answers := blueprint.Answers{}
	content, found := in.Stored[dataflow.AnswersSecret(in.Installation.Name)]
	var stored storedAnswers
	if !found || json.Unmarshal(content[dataflow.StateSecretKey], &stored) != nil || stored.Version != in.Run.Version {
		return answers
	}
	for _, answer := range stored.Answers {
		answers[answer.ClusterCall] = answer.Answer
	}
	return answers
}

// answerWrites returns the writes that store the answers of this job.
func answerWrites(in Inputs) ([]StateWrite, error) {
	if len(in.Answers) == 0 {
		return nil, nil
	}
	kept := storedAnswers{Version: in.Run.Version}
	for call, answer := range in.Answers {
		kept.Answers = append(kept.Answers, storedAnswer{call, answer})
	}
	slices.SortFunc(kept.Answers, func(a, b storedAnswer) int {
		return cmp.Compare(keyOf(a.ClusterCall), keyOf(b.ClusterCall))
	})
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	name := dataflow.AnswersSecret(in.Installation.Name)
	stored, exists := in.Stored[name]
	if exists && bytes.Equal(stored[dataflow.StateSecretKey], text) {
		return nil, nil
	}
	return []StateWrite{{Name: name, Data: map[string][]byte{dataflow.StateSecretKey: text}, Exists: exists}}, nil
}

func keyOf(call blueprint.ClusterCall) string {
	text, _ := json.Marshal(call)
	return string(text)
}

// Asks returns the unanswered call that a plan needs, or nil if there is none. It returns an error if there were too many calls before.
func Asks(in Inputs, err error) (*blueprint.Unanswered, error) {
	var asked *blueprint.Unanswered
	if !errors.As(err, &asked) {
		return nil, nil
	}
	if len(in.Answers) >= MaxAnswers {
		return nil, failure.Terminalf(failure.Details{Operation: "RenderBlueprint", Reason: "TooManyCalls"},
			"the templates call clusters with more than %d different sets of arguments: reduce the number of calls", MaxAnswers)
	}
	return asked, nil
}
