// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"cmp"
	"reflect"

	"espalier.dev/internal/template"
)

var errIncomparable = template.Problemf("these values cannot be compared")

// equal reports whether a value equals one of others. Unlike in text/template, integers can be compared with other numbers:
// whether a number of the input has a fraction is beyond the template author's control.
func (r *run) equal(value any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, template.Problemf("there is nothing to compare with")
	}
	for _, other := range others {
		same, err := r.same(value, other)
		if err != nil || same {
			return same, err
		}
	}
	return false, nil
}

func (r *run) notEqual(value, other any) (bool, error) {
	same, err := r.same(value, other)
	return !same, err
}

func (r *run) same(one, other any) (bool, error) {
	if one == nil || other == nil {
		return one == nil && other == nil, nil
	}
	if a, ok := one.(bool); ok {
		b, ok := other.(bool)
		if !ok {
			return false, errIncomparable
		}
		return a == b, nil
	}
	order, err := r.order(one, other)
	return order == 0, err
}

// compared returns a function that compares two values and reports whether their order is the wanted one.
func (r *run) compared(wanted func(order int) bool) any {
	return func(one, other any) (bool, error) {
		order, err := r.order(one, other)
		return err == nil && wanted(order), err
	}
}

// order compares two strings or two numbers.
func (r *run) order(one, other any) (int, error) {
	a, b := reflect.ValueOf(one), reflect.ValueOf(other)
	switch {
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String()), r.meter.Read(int64(min(a.Len(), b.Len())))
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int()), nil
	}
	x, ok := numberOf(a)
	y, alsoOK := numberOf(b)
	if !ok || !alsoOK {
		return 0, errIncomparable
	}
	return cmp.Compare(x, y), nil
}

func numberOf(v reflect.Value) (float64, bool) {
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

// index looks up keys in maps, lists and strings, one level per key. A missing entry of a map is null.
func (r *run) index(value any, keys ...any) (any, error) {
	for _, key := range keys {
		if text, ok := key.(string); ok {
			if err := r.meter.Read(int64(len(text))); err != nil {
				return nil, err
			}
		}
		next, err := element(reflect.ValueOf(value), reflect.ValueOf(key))
		if err != nil {
			return nil, err
		}
		value = next
	}
	return value, nil
}

func element(value, key reflect.Value) (any, error) {
	switch value.Kind() {
	case reflect.Map:
		if !key.IsValid() || !key.CanConvert(value.Type().Key()) || key.Kind() != value.Type().Key().Kind() {
			return nil, template.Problemf("the key of a map has the wrong type")
		}
		if found := value.MapIndex(key); found.IsValid() {
			return found.Interface(), nil
		}
		return nil, nil
	case reflect.Slice, reflect.Array, reflect.String:
		if !key.IsValid() || !key.CanInt() {
			return nil, template.Problemf("the index into a list must be an integer")
		}
		if i := key.Int(); i >= 0 && i < int64(value.Len()) {
			return value.Index(int(i)).Interface(), nil
		}
		return nil, template.Problemf("the index is out of range")
	}
	return nil, template.Problemf("there is nothing to look into")
}
