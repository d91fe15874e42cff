// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/failure"
)

// ReasonFailed is the reason of an error when an object has failed for good.
const ReasonFailed = "ObjectFailed"

// State is the readiness of one object.
type State struct {
	Ready bool
	// Missing is what the object lacks.
	Missing string
	// Failed is why the object can never become ready.
	Failed string
}

// Of returns the state of an object. It depends only on the object: kinds that are ready as soon as they exist cost no
// request.
func Of(object *unstructured.Unstructured) State {
	if rule, found := rules[object.GroupVersionKind().Group+"/"+object.GetKind()]; found {
		if state := rule(object); !state.Ready {
			return state
		}
	}
	return byConvention(object)
}

// byConvention never panics, regardless of the status.
func byConvention(object *unstructured.Unstructured) (state State) {
	defer func() {
		if recover() != nil {
			state = State{Missing: "its status cannot be parsed"}
		}
	}()
	result, err := status.Compute(object)
	if err != nil {
		return State{Missing: "its status cannot be parsed"}
	}
	if result.Status == status.CurrentStatus {
		return State{Ready: true}
	}
	return State{Missing: fmt.Sprintf("not ready: %s", result.Message)}
}

// Failure returns the error of an object that can never become ready.
func (s State) Failure(subject cluster.Subject) error {
	return failure.Terminalf(failure.Details{Operation: "CheckReadiness", Reason: ReasonFailed}, "%s has failed: %s", subject, s.Failed)
}

// rules are for kinds that kstatus does not support, or for which it checks less than a user needs.
var rules = map[string]func(*unstructured.Unstructured) State{
	"batch/Job":                         jobState,
	"/Pod":                              podState,
	"/ReplicationController":            replicationControllerState,
	"apiregistration.k8s.io/APIService": apiServiceState,
}

// jobState waits for the end of a Job; kstatus only waits for its start.
func jobState(object *unstructured.Unstructured) State {
	if failed, message := condition(object, "Failed"); failed {
		return State{Failed: message}
	}
	if complete, _ := condition(object, "Complete"); complete {
		return State{Ready: true}
	}
	return State{Missing: "not complete"}
}

func podState(object *unstructured.Unstructured) State {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	if phase == "Failed" {
		message, _, _ := unstructured.NestedString(object.Object, "status", "message")
		return State{Failed: "the pod has ended: " + message}
	}
	return State{Ready: true}
}

func replicationControllerState(object *unstructured.Unstructured) State {
	wanted, found, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	if !found {
		wanted = 1
	}
	ready, _, _ := unstructured.NestedInt64(object.Object, "status", "readyReplicas")
	if _, observed, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); !observed || ready < wanted {
		return State{Missing: fmt.Sprintf("%d of %d replicas ready", ready, wanted)}
	}
	return State{Ready: true}
}

func apiServiceState(object *unstructured.Unstructured) State {
	available, message := condition(object, "Available")
	if !available {
		return State{Missing: "not available: " + message}
	}
	return State{Ready: true}
}

// condition reports whether a condition is true, and its message.
func condition(object *unstructured.Unstructured, kind string) (holds bool, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		fields, _ := each.(map[string]any)
		if fields["type"] == kind {
			message, _ = fields["message"].(string)
			return fields["status"] == "True", message
		}
	}
	return false, "no status reported yet"
}
