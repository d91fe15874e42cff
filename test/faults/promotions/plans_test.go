// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/testkit/faults"
)

// errorAnswers of the API server.
var errorAnswers = []faults.Action{
	faults.AnswerConflict, faults.AnswerInternalError, faults.AnswerTooMany, faults.LoseAnswerByTimeout, faults.AnswerUnavailable,
}

// badAnswers of an external system. 409 and 429 have a meaning for some of them, so they are not injected.
var badAnswers = []faults.Action{faults.AnswerInternalError, faults.Reset, faults.AnswerUnavailable}

// planned returns disturbances for plans.
func planned(plans []faults.Plan) []disturbance {
	var all []disturbance
	for _, plan := range plans {
		all = append(all, disturbance{plan: plan})
	}
	return all
}

// requests returns all requests of a reference run to the API server except watches, by their signatures and numbers. Objects whose names
// differ from run to run are counted without them; repeated reads are included up to a number.
func requests(log faults.Log) []faults.RequestFault {
	const mostReads = 3
	counts := map[faults.Pattern]int{}
	var all []faults.RequestFault
	for _, entry := range log {
		if entry.Verb == "watch" || entry.Resource == "" || entry.Resource == "leases" {
			continue
		}
		pattern := faults.Pattern{Verb: entry.Verb, Resource: entry.GroupResource(), Subresource: entry.Subresource, Name: entry.Name}
		if entry.Resource == "events" || entry.Resource == "namespaces" {
			pattern.Name = ""
		}
		counts[pattern]++
		if entry.Write > 0 || counts[pattern] <= mostReads {
			all = append(all, faults.RequestFault{What: pattern, Which: faults.Which{Number: counts[pattern]}})
		}
	}
	return all
}

// with returns one disturbance for each request and action.
func with(requests []faults.RequestFault, actions ...faults.Action) []disturbance {
	var plans []faults.Plan
	for _, fault := range requests {
		for _, action := range actions {
			fault.Do = action
			plans = append(plans, faults.Plan{Requests: []faults.RequestFault{fault}})
		}
	}
	return planned(plans)
}

// rotated returns one disturbance for one request of each kind, with one action each, so that in all workloads together each kind meets
// each action.
func rotated(requests []faults.RequestFault, number int, actions ...faults.Action) []disturbance {
	byKind := map[string][]faults.RequestFault{}
	var order []string
	for _, fault := range requests {
		kind := fmt.Sprint(fault.What.Verb, fault.What.Resource, fault.What.Subresource)
		if byKind[kind] == nil {
			order = append(order, kind)
		}
		byKind[kind] = append(byKind[kind], fault)
	}
	var all []disturbance
	for i, kind := range order {
		choice := byKind[kind]
		fault := choice[(i+number)*stride%len(choice)]
		all = append(all, with([]faults.RequestFault{fault}, actions[(i+number)%len(actions)])...)
	}
	return all
}

// stride is prime, so that the chosen requests are spread over many.
const stride = 7

// outside returns all requests of a reference run to an external system. Those that are repeated at intervals are included up to a number.
func outside(place string, calls []call) []outsideFault {
	const mostPolls = 2
	var all []outsideFault
	for _, c := range calls {
		polled := c.operation == "list" || c.operation == "get" || c.operation == "checks"
		if !polled || c.number <= mostPolls {
			all = append(all, outsideFault{place: place, operation: c.operation, number: c.number})
		}
	}
	return all
}

// changes are the operations that have effects, so that it matters whether one without a timely answer was executed. A push is not among
// them: Git has three minutes.
var changes = []string{"create", "comment", "close", "event"}

// eachOutside returns a disturbance for each request to an external system and each fault.
func eachOutside(all []outsideFault) []disturbance {
	var disturbances []disturbance
	for _, fault := range all {
		actions := slices.Concat(faults.CrashPoints, badAnswers)
		if slices.Contains(changes, fault.operation) {
			actions = append(actions, faults.LoseAnswerByTimeout)
		}
		for _, action := range actions {
			fault.do = action
			disturbances = append(disturbances, disturbance{outside: []outsideFault{fault}})
		}
	}
	return disturbances
}

// slowly delays the write of every status, with a crash after an external change: what is done before it is recorded is then forgotten.
func slowly(all []outsideFault) []disturbance {
	var disturbances []disturbance
	for _, fault := range slices.Backward(all) {
		if slices.Contains([]string{"create", "close", "event"}, fault.operation) {
			fault.do = faults.CrashAfter
			disturbances = append(disturbances, disturbance{
				plan:    faults.MustParse("patch/pipelines/status:*:slow=1s"),
				outside: []outsideFault{fault},
			})
		}
	}
	return disturbances
}

// someOutside returns a disturbance for one request of each operation; those with effects meet all kinds of crashes.
func someOutside(all []outsideFault, number int) []disturbance {
	byOperation := map[string][]outsideFault{}
	var order []string
	for _, fault := range all {
		if byOperation[fault.operation] == nil {
			order = append(order, fault.operation)
		}
		byOperation[fault.operation] = append(byOperation[fault.operation], fault)
	}
	var disturbances []disturbance
	for i, operation := range order {
		choice := byOperation[operation]
		actions := []faults.Action{slices.Concat(faults.CrashPoints, badAnswers)[(i*stride+number)%(len(faults.CrashPoints)+len(badAnswers))]}
		if operation == "create" || operation == "close" || operation == "event" {
			actions = faults.CrashPoints
		}
		for j, action := range actions {
			fault := choice[(number+j)%len(choice)]
			fault.do = action
			disturbances = append(disturbances, disturbance{outside: []outsideFault{fault}})
		}
	}
	return disturbances
}

// helmReleases is the resource of the applications in most workloads.
const helmReleases = "helmreleases.helm.toolkit.fluxcd.io"

// deafTo hides the applications from the controller: their list fails, or their watch breaks, restarts or lags at a write.
func deafTo(resource string, writes int) []disturbance {
	var all []disturbance
	for _, action := range []string{"503", "reset", "timeout"} {
		all = append(all, disturbance{plan: faults.MustParse(fmt.Sprintf("list/%s:1:%s;list/%s:2:%s", resource, action, resource, action))})
	}
	for write := 1; write <= writes; write++ {
		for _, action := range []string{"cut:%d", "gone:%d", "hold:%d..%d", "relist:%d..%d"} {
			at := fmt.Sprintf(action, []any{write, write + 2}[:1+strings.Count(action, "..")]...)
			all = append(all, disturbance{plan: faults.MustParse("watch:" + resource + ":" + at)})
		}
	}
	return all
}
