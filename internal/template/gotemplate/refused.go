// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/template"
)

// The reasons for which functions are rejected, and what to do instead. They complete the sentence "not available in
// blueprints because".
const (
	becauseEnvironment = "a blueprint must not depend on the environment of the process that renders it; import the value instead"
	becauseNetwork     = "a template must not reach the network; import the address instead"
	becauseClock       = "its result depends on the clock or the time zone, and rendering must be deterministic; import the time instead"
	becauseNoState     = "its result differs every time and nothing is stored here: only deploy, subinstallation and export executions have a state; import the value instead"
)

// refused maps functions of similar engines to the reason why this engine lacks them.
var refused = refusals(map[string]string{
	becauseEnvironment: "env expandenv",
	becauseNetwork:     "getHostByName",
	becauseClock: `now ago date dateInZone date_in_zone dateModify date_modify mustDateModify must_date_modify htmlDate
		htmlDateInZone toDate mustToDate unixEpoch`,
})

func refusals(reasons map[string]string) map[string]string {
	byName := map[string]string{}
	for reason, names := range reasons {
		for _, name := range strings.Fields(names) {
			byName[name] = reason
		}
	}
	return byName
}

// refusalOf returns why a function cannot be called, either at all or because there is no state; empty if it can.
func refusalOf(name string, state bool) string {
	reason := refused[name]
	if reason == "" && generators[name] != nil && !state {
		reason = becauseNoState
	}
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("function %s is not available in blueprints because %s", name, reason)
}

// Refusals explains, for each function that occurs in the template and is none of the given ones, why a call would fail:
// always, or because there is no state.
func (t *Template) Refusals(state bool, added []string) []string {
	var all []string
	for _, name := range t.used {
		if text := refusalOf(name, state); text != "" && !slices.Contains(added, name) {
			all = append(all, text)
		}
	}
	return all
}

// refuse returns a function that only fails.
func refuse(refusal string) any {
	return func(...any) (any, error) { return nil, template.Problemf("%s", refusal) }
}

// fail ends the rendering. Its message may contain values, so it is not shown.
func (r *run) fail(string) (string, error) { return "", template.Refusal("", false) }

// failLiterally ends the rendering with a message that consists only of template text.
func failLiterally(message string) (string, error) { return "", template.Refusal(message, true) }
