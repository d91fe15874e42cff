// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"espalier.dev/internal/objecttree"
)

var liveTones = map[objecttree.LiveState]Tone{
	objecttree.Ready: Done, objecttree.NotReady: Waits, objecttree.Broken: Failed, objecttree.Gone: Failed, objecttree.NotReadable: Unknown,
}

// NewLive returns objects of a target cluster, with what is below them. An object that was not read says so.
func NewLive(objects []objecttree.DeployedObject) []LiveObject {
	shown := make([]LiveObject, 0, len(objects))
	for _, object := range objects {
		status := Status{Tone: NotYet, Word: "NotChecked", Message: object.Message}
		if tone, looked := liveTones[object.State]; looked {
			status.Tone, status.Word = tone, string(object.State)
		}
		shown = append(shown, LiveObject{
			APIVersion: object.APIVersion, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name,
			Status: status, Below: NewLive(object.Below),
		})
	}
	return shown
}
