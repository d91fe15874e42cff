// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"espalier.dev/api/landscaper/v1alpha1"
)

func TestDurationLimit(t *testing.T) {
	const fallback = 7 * time.Minute
	text := func(s string) *v1alpha1.Duration { d := v1alpha1.Duration(s); return &d }
	tests := map[string]struct {
		duration *v1alpha1.Duration
		limit    time.Duration
		limited  bool
	}{
		"absent":            {nil, fallback, true},
		"empty":             {text(""), fallback, true},
		"none":              {text("none"), 0, false},
		"zero":              {text("0"), 0, false},
		"zero with a unit":  {text("0s"), 0, false},
		"minutes":           {text("10m"), 10 * time.Minute, true},
		"several units":     {text("1h30m0.5s"), 90*time.Minute + 500*time.Millisecond, true},
		"with a plus":       {text("+2s"), 2 * time.Second, true},
		"tiny":              {text("1ns"), 1, true},
		"micro, both signs": {text("1µs1μs"), 2 * time.Microsecond, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			limit, limited, err := test.duration.Limit(fallback)
			if err != nil || limit != test.limit || limited != test.limited {
				t.Errorf("got %v, %t, %v; want %v, %t", limit, limited, err, test.limit, test.limited)
			}
		})
	}
}

func TestDurationLimitNamesTheBadValue(t *testing.T) {
	for _, bad := range []v1alpha1.Duration{"soon", "10", "5 m", "-5m", "None", "1d", "9999999h9999999h", " 5m"} {
		t.Run(string(bad), func(t *testing.T) {
			_, limited, err := bad.Limit(time.Minute)
			if err == nil || limited {
				t.Fatalf("got %t, %v", limited, err)
			}
			if want := `"` + string(bad) + `"`; !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not contain %s", err, want)
			}
		})
	}
}

// One object with a value that means nothing must not hide all others from a controller.
func TestBadDurationDoesNotHideOtherObjects(t *testing.T) {
	list := `{"items":[{"metadata":{"name":"a"},"spec":{"type":"t","timeout":"soon"}},{"metadata":{"name":"b"},"spec":{"type":"t","timeout":"5m"}}]}`
	var items v1alpha1.DeployItemList
	if err := json.Unmarshal([]byte(list), &items); err != nil {
		t.Fatal(err)
	}
	if len(items.Items) != 2 || *items.Items[0].Spec.Timeout != "soon" {
		t.Errorf("got %+v", items.Items)
	}
}

func TestNewDuration(t *testing.T) {
	for value, want := range map[time.Duration]v1alpha1.Duration{
		0:                                v1alpha1.NoDuration,
		90 * time.Minute:                 "1h30m0s",
		1500 * time.Millisecond:          "1.5s",
		24*time.Hour + 1*time.Nanosecond: "24h0m0.000000001s",
	} {
		got := v1alpha1.NewDuration(value)
		if got != want {
			t.Errorf("NewDuration(%v) = %q, want %q", value, got, want)
		}
		if limit, _, err := got.Limit(time.Hour); err != nil || limit != value {
			t.Errorf("%q reads back as %v, %v", got, limit, err)
		}
	}
}
