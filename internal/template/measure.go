// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"reflect"
)

// Rough sizes of the parts of values.
const (
	sizeOfItem  = 16
	sizeOfEntry = 48
)

// Measure counts a value that a function is about to traverse: it charges the value's size, with shared parts counted at
// every occurrence, and fails if the value nests too deeply. Because values can share parts, a few dozen steps build one
// that is small in memory but takes forever to traverse. A value with a cycle is rejected as too deep.
func (m *Meter) Measure(value any) error {
	return m.measure(value, 0)
}

func (m *Meter) measure(value any, level int) error {
	if level > m.limits.Nesting {
		return m.Nested(level)
	}
	switch v := value.(type) {
	case nil, bool, int, int64, float64:
		return m.Build(sizeOfItem)
	case string:
		return m.Build(sizeOfItem + int64(len(v)))
	case []any:
		return m.measureList(v, level)
	case map[string]any:
		return m.measureMap(v, level)
	}
	return m.measureReflected(reflect.ValueOf(value), level)
}

func (m *Meter) measureList(list []any, level int) error {
	if err := m.Build(sizeOfItem); err != nil {
		return err
	}
	for _, item := range list {
		if err := m.measure(item, level+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meter) measureMap(entries map[string]any, level int) error {
	if err := m.Build(sizeOfEntry); err != nil {
		return err
	}
	for key, item := range entries {
		if err := m.Build(sizeOfItem + int64(len(key))); err != nil {
			return err
		}
		if err := m.measure(item, level+1); err != nil {
			return err
		}
	}
	return nil
}

// measureReflected measures types that only functions return, such as []string or map[string]string.
func (m *Meter) measureReflected(v reflect.Value, level int) error {
	if err := m.Build(sizeOfItem); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		return m.Build(int64(v.Len()))
	case reflect.Slice, reflect.Array:
		return m.measureItems(v, level)
	case reflect.Map:
		return m.measureEntries(v, level)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return m.measureInner(v.Elem(), level)
	case reflect.Struct:
		return m.measureFields(v, level)
	}
	return nil
}

func (m *Meter) measureItems(v reflect.Value, level int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return m.Build(int64(v.Len()))
	}
	for i := range v.Len() {
		if err := m.measureInner(v.Index(i), level); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meter) measureEntries(v reflect.Value, level int) error {
	for entries := v.MapRange(); entries.Next(); {
		if err := m.measureInner(entries.Key(), level); err != nil {
			return err
		}
		if err := m.measureInner(entries.Value(), level); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meter) measureFields(v reflect.Value, level int) error {
	for i := range v.NumField() {
		if err := m.measureInner(v.Field(i), level); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meter) measureInner(v reflect.Value, level int) error {
	if level >= m.limits.Nesting {
		return m.Nested(level + 1)
	}
	if v.Kind() == reflect.Interface && v.CanInterface() {
		return m.measure(v.Interface(), level+1)
	}
	return m.measureReflected(v, level+1)
}

// Shallow returns the size of a value without the values inside it.
func Shallow(value any) int64 {
	switch v := value.(type) {
	case string:
		return int64(len(v))
	case []any:
		return sizeOfItem * int64(len(v))
	case map[string]any:
		return sizeOfEntry * int64(len(v))
	case nil, bool, int, int64, float64:
		return 0
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice, reflect.Array:
		return sizeOfItem * int64(v.Len())
	case reflect.Map:
		return sizeOfEntry * int64(v.Len())
	}
	return 0
}
