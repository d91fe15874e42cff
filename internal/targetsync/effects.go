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

// Phase is how a TargetSync is doing. It is not stored: the condition Ready says the same.
type Phase string

// How a TargetSync may be doing.
const (
	Synchronised Phase = "Synchronised"
	Failing      Phase = "Failing"
)

// Effect is something to be done. Each can be repeated without harm.
type Effect interface {
	fmt.Stringer
	effect()
}

// Decision is what to do next about a TargetSync.
type Decision = decision.Of[Phase, Effect]

type (
	// AddFinalizer puts the finalizer on the TargetSync.
	AddFinalizer struct{}
	// RemoveFinalizer lets the TargetSync go.
	RemoveFinalizer struct{}
	// SeeRotation gives the request for another token the present time.
	SeeRotation struct{}
	// Rotate requests a token and puts it into the Secret of the source, which says that it was made at that time.
	Rotate struct{ At time.Time }
	// WriteSecret writes a Secret as it shall be. Existing is the one that is there, zero if there is none.
	WriteSecret struct {
		Name     string
		Content  Content
		Existing Secret
	}
	// RenewShoot asks for credentials of a shoot and puts them into its Secret.
	RenewShoot struct {
		Name     string
		Existing Secret
	}
	// WriteTarget writes a Target as it shall be. Exists says that there is one of the name, which is ours.
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
	// Hear takes off the TargetSync what was asked for and is done.
	Hear struct{ Rotation bool }
	// Refuse ends a synchronisation with what went wrong.
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
func (SeeRotation) String() string     { return "note the request for another token" }
func (Rotate) String() string          { return "replace the token" }
func (e WriteSecret) String() string   { return "write Secret " + e.Name }
func (e RenewShoot) String() string    { return "renew the credentials of shoot " + e.Name }
func (e WriteTarget) String() string   { return "write Target " + e.Name }
func (e RemoveSecret) String() string  { return "delete Secret " + e.Name }
func (e RemoveTarget) String() string  { return "delete Target " + e.Name }
func (Hear) String() string            { return "remove the annotations of what is done" }
func (Refuse) String() string          { return "synchronise" }

// rotation is the name under which Failed knows it. No pair can have it.
const rotation = "/rotation"

// nameOf is the name under which Failed knows what an effect is about; empty if a failure ends the synchronisation.
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
	}
	return ""
}

// Separable reports whether a failure of an effect leaves the others as they are: then it is a fact, and the others go on.
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

// changed returns the facts after an effect on something else than the TargetSync.
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
	}
	return o
}
