// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
)

// Phase is the state of a TargetSync. It is not stored: the condition Ready has the same information.
type Phase string

// The phases of a TargetSync.
const (
	Synchronised Phase = "Synchronised"
	Failing      Phase = "Failing"
)

// Effect is something to do. Every effect is idempotent.
type Effect interface {
	fmt.Stringer
	effect()
}

// Decision is what to do next for a TargetSync.
type Decision = decision.Of[Phase, Effect]

type (
	// AddFinalizer adds the finalizer to the TargetSync.
	AddFinalizer struct{}
	// RemoveFinalizer lets the API server delete the TargetSync.
	RemoveFinalizer struct{}
	// SeeRotation records the current time as the time of the request for another token.
	SeeRotation struct{}
	// Rotate requests a token and writes it into the Secret of the source, with its creation time.
	Rotate struct{ At time.Time }
	// WriteSecret writes a Secret in its desired state. Existing is the current one, zero if there is none.
	WriteSecret struct {
		Name     string
		Content  Content
		Existing Secret
	}
	// RenewShoot requests credentials of a shoot and writes them into its Secret.
	RenewShoot struct {
		Name     string
		Existing Secret
	}
	// WriteTarget writes a Target in its desired state. Exists reports whether there is one of that name, which is ours.
	WriteTarget struct {
		Name   string
		Spec   lsv1alpha1.TargetSpec
		Synced time.Time
		Exists bool
	}
	// RemoveSecret and RemoveTarget delete what is ours.
	RemoveSecret struct {
		Name string
		UID  types.UID
	}
	RemoveTarget struct {
		Name string
		UID  types.UID
	}
	// Hear removes completed requests from the TargetSync.
	Hear struct{ Rotation bool }
	// Refuse ends a synchronisation with an error.
	Refuse struct{ Err error }
)

func (AddFinalizer) effect()    {}
func (RemoveFinalizer) effect() {}
func (SeeRotation) effect()     {}
func (Rotate) effect()          {}
func (WriteSecret) effect()     {}
func (RenewShoot) effect()      {}
func (WriteTarget) effect()     {}
func (RemoveSecret) effect()    {}
func (RemoveTarget) effect()    {}
func (Hear) effect()            {}
func (Refuse) effect()          {}

func (AddFinalizer) String() string    { return "add the finalizer" }
func (RemoveFinalizer) String() string { return "remove the finalizer" }
func (SeeRotation) String() string     { return "record the request for another token" }
func (Rotate) String() string          { return "replace the token" }
func (e WriteSecret) String() string   { return "write Secret " + e.Name }
func (e RenewShoot) String() string    { return "renew the credentials of shoot " + e.Name }
func (e WriteTarget) String() string   { return "write Target " + e.Name }
func (e RemoveSecret) String() string  { return "delete Secret " + e.Name }
func (e RemoveTarget) String() string  { return "delete Target " + e.Name }
func (Hear) String() string            { return "remove the annotations of completed requests" }
func (Refuse) String() string          { return "synchronise" }

// rotation is the key of the rotation in Failed. No pair can have this name.
const rotation = "/rotation"

// nameOf returns the key in Failed for an effect; empty if a failure ends the synchronisation.
func nameOf(effect Effect) string {
	switch e := effect.(type) {
	case Rotate:
		return rotation
	case WriteSecret:
		return e.Name
	case RenewShoot:
		return e.Name
	case WriteTarget:
		return e.Name
	case RemoveSecret:
		return e.Name
	case RemoveTarget:
		return e.Name
	case AddFinalizer, RemoveFinalizer, SeeRotation, Hear, Refuse:
	}
	return ""
}

// Separable reports whether a failure of an effect does not affect the others: then it is a fact, and the others continue.
func Separable(effect Effect) bool { return nameOf(effect) != "" }

// Failing returns the facts after a separable effect has failed.
func (o Observed) Failing(effect Effect, err error) Observed {
	o.Failed = maps.Clone(o.Failed)
	o.Failed[nameOf(effect)] = fmt.Errorf("%s: %w", effect, err)
	return o
}

// After returns the facts after an effect. Secret is the one that a WriteSecret or RenewShoot has written.
func After(o Observed, effect Effect, secret Secret) Observed {
	switch e := effect.(type) {
	case AddFinalizer:
		o.Finalizer = true
	case RemoveFinalizer:
		o.Finalizer = false
	case SeeRotation:
		o.RotationSeen = o.Now
	case Hear:
		o.Asked = false
		if e.Rotation {
			o.RotationAsked, o.RotationSeen = false, time.Time{}
		}
	default:
		o = changed(o, effect, secret)
		o.Changed = true
	}
	return o
}

// changed returns the facts after an effect on something other than the TargetSync.
func changed(o Observed, effect Effect, secret Secret) Observed {
	switch e := effect.(type) {
	case Rotate:
		source := *o.Source
		source.Rotated = e.At
		o.Source = &source
	case WriteSecret, RenewShoot:
		o.Secrets = maps.Clone(o.Secrets)
		o.Secrets[nameOf(e)] = secret
	case WriteTarget:
		o.Targets = maps.Clone(o.Targets)
		o.Targets[e.Name] = Target{Ours: true, By: o.Name, Spec: e.Spec, Synced: e.Synced, UID: o.Targets[e.Name].UID}
	case RemoveSecret:
		o.Secrets = maps.Clone(o.Secrets)
		delete(o.Secrets, e.Name)
	case RemoveTarget:
		o.Targets = maps.Clone(o.Targets)
		delete(o.Targets, e.Name)
	case Refuse:
	}
	return o
}
