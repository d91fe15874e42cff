// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WatchAction is what happens to the watches of one resource.
type WatchAction string

// The actions on watches, which the package documentation describes.
const (
	Hold      WatchAction = "hold"
	Relist    WatchAction = "relist"
	SlowWatch WatchAction = slow
	Cut       WatchAction = "cut"
	Gone      WatchAction = "gone"
)

// WatchFault is a fault of the watches of one resource, with its start and end.
type WatchFault struct {
	Resource string // with or without its group
	Do       WatchAction
	Delay    time.Duration // of SlowWatch
	From     int           // the write just before which it starts; 0 for the start
	To       int           // the write after which it ends; 0 if no write ends it
	For      time.Duration // how long it lasts; 0 if it has no time limit
}

func (f WatchFault) String() string {
	text := fmt.Sprintf("watch:%s:%s", f.Resource, f.Do)
	if f.Delay > 0 {
		text += "=" + f.Delay.String()
	}
	switch {
	case f.To > 0:
		return fmt.Sprintf("%s:%d..%d", text, f.From, f.To)
	case f.For > 0:
		return fmt.Sprintf("%s:%d..+%s", text, f.From, f.For)
	case f.From > 0:
		return fmt.Sprintf("%s:%d", text, f.From)
	}
	return text
}

func parseWatchFault(parts []string) (WatchFault, error) {
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return WatchFault{}, errors.New("want watch:RESOURCE:ACTION[:FROM[..TO]]")
	}
	fault := WatchFault{Resource: parts[0]}
	if err := fault.parseAction(parts[1]); err != nil {
		return fault, err
	}
	if len(parts) == 3 {
		if err := fault.parseRange(parts[2]); err != nil {
			return fault, err
		}
	}
	return fault, fault.check()
}

func (f *WatchFault) parseAction(text string) error {
	name, detail, detailed := strings.Cut(text, "=")
	f.Do = WatchAction(name)
	if !slices.Contains([]WatchAction{Hold, Relist, SlowWatch, Cut, Gone}, f.Do) {
		return fmt.Errorf("there is no action %q on watches", name)
	}
	if detailed != (f.Do == SlowWatch) {
		return fmt.Errorf("%q: %s=D takes a time, and nothing else does", text, SlowWatch)
	}
	if !detailed {
		return nil
	}
	var err error
	f.Delay, err = parseTime(detail)
	return err
}

func (f *WatchFault) parseRange(text string) error {
	from, to, ends := strings.Cut(text, "..")
	var err error
	if f.From, err = strconv.Atoi(from); err != nil || f.From < 0 {
		return fmt.Errorf("%q is not the number of a write", from)
	}
	if !ends {
		return nil
	}
	if duration, ok := strings.CutPrefix(to, "+"); ok {
		f.For, err = parseTime(duration)
		return err
	}
	if f.To, err = strconv.Atoi(to); err != nil || f.To < f.From {
		return fmt.Errorf("%q is neither +D nor the number of a write that is not before %d", to, f.From)
	}
	return nil
}

// check rejects contradictions: an instantaneous action with a duration, and a relist that never comes.
func (f *WatchFault) check() error {
	lasts := f.To > 0 || f.For > 0
	if (f.Do == Cut || f.Do == Gone) && (lasts || f.From == 0) {
		return fmt.Errorf("%s happens at one write: want :FROM and no end", f.Do)
	}
	if f.Do == Relist && !lasts {
		return fmt.Errorf("%s needs an end: want :FROM..TO", f.Do)
	}
	return nil
}
