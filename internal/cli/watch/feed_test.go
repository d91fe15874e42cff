// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/testkit"
)

// Whether to retry is up to the reason why a request has failed.
func TestFailuresOfTheFeed(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "installations"}, "", errors.New("no"))
	expired := apierrors.NewUnauthorized("the token has expired")
	for name, test := range map[string]struct {
		event follow.Event
		want  connection
	}{
		"lost":         {follow.Event{Failed: errors.New("broken pipe")}, connection{problem: "broken pipe"}},
		"forbidden":    {follow.Event{Failed: forbidden}, connection{problem: forbidden.Error(), denied: true}},
		"unauthorized": {follow.Event{Failed: expired}, connection{problem: expired.Error(), denied: true}},
		"restored":     {follow.Event{Restored: true}, connection{}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []tea.Msg
			f := &feed{send: func(m tea.Msg) { sent = append(sent, m) }}
			f.see(test.event)
			if want := []tea.Msg{test.want}; !reflect.DeepEqual(sent, want) || f.changed {
				t.Errorf("sent %+v, want %+v", sent, want)
			}
		})
	}
}

// A panic beside the screen ends the screen first, which restores the terminal, and is told after that.
func TestAPanicOfTheFeedEndsTheScreenFirst(t *testing.T) {
	events := make(chan follow.Event, 1)
	events <- follow.Event{Restored: true}
	restored := make(chan struct{})
	check := (&feed{events: events, send: func(tea.Msg) { panic("no such tree") }}).start(t.Context(), func() { close(restored) })
	select {
	case <-restored:
	case <-time.After(testkit.Patience):
		t.Fatal("the screen stays")
	}
	defer func() {
		if told, _ := recover().(string); !strings.HasPrefix(told, "no such tree\n") || !strings.Contains(told, "(*feed).see") {
			t.Errorf("it panics with: %s", told)
		}
	}()
	check()
}

func TestAFeedThatEndsIsNoPanic(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	check := (&feed{events: make(chan follow.Event)}).start(ctx, func() { t.Error("the screen has ended") })
	end()
	check()
}
